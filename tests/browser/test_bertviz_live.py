"""bertviz's views in JupyterLab: drawn, operated by key, and drawn again when their cells run again."""

from importlib.metadata import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser import test_jupyterlab
from tests.browser.conftest import PATIENCE
from tests.browser.test_jupyterlab import lab, run_all  # noqa: F401  (lab is a fixture)

pytestmark = pytest.mark.slow
HEAD = """from transformer_edu import recordings
from transformer_edu.widgets import bertviz_head_view, bertviz_model_view
data = recordings.load("running-sentence")["data"]
words = data["source_tokens"], data["predicted_tokens"]
bertviz_head_view(data["attention"], *words, attention="cross", layer=1)"""
MODEL = 'bertviz_model_view(data["attention"], *words)'
LIBRARIES = {"d3": ("mpld3", "js/d3.v5.min.js"), "jquery": ("sphinxcontrib-jquery", "jquery/jquery.js")}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The address of a notebook with both views."""
    for name, source in (("FIRST", HEAD), ("SLIDER", MODEL), ("LAST", "")):
        monkeypatch.setattr(test_jupyterlab, name, source)
    return str(request.getfixturevalue("lab"))


def answer(route: Route) -> None:
    """Hand out an installed copy in place of what the network would give."""
    package, ending = LIBRARIES["d3" if "/d3/" in route.request.url else "jquery"]
    path = next(f for f in files(package) or [] if f.as_posix().endswith(ending)).locate()
    route.fulfill(body=Path(str(path)).read_text(encoding="utf-8"), content_type="text/javascript")


def wait_until_drawn(page: Page) -> None:
    page.wait_for_selector(".te-bertviz[data-ready=true] >> nth=1")


def test_views_are_drawn_in_jupyterlab_take_arrow_keys_and_survive_another_run(notebook: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 1500})
    page.set_default_timeout(PATIENCE)
    page.route("**/cdnjs.cloudflare.com/**", answer)
    page.goto(notebook)
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    run_all(page)
    wait_until_drawn(page)
    page.get_by_label("who looks").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert "“chat” looks most: head 1 at “cat”" in page.locator(".bv-words").first.inner_text()
    page.evaluate("document.querySelectorAll('.te-bertviz').forEach((view) => view.dataset.old = 'true')")
    run_all(page)
    page.wait_for_function("document.querySelectorAll('.te-bertviz:not([data-old])').length === 2")
    wait_until_drawn(page)
    assert page.locator(".te-bertviz svg").count() == 2
    page.close()

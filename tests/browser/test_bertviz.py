"""bertviz's views on a page built with the book's extension: offline, from disk, by keyboard, in words."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
import take_stills
import torch

from tests.browser.conftest import ROOT, axe_problems, overflow
from tests.browser.figure_page import close
from tests.browser.keyboard import tab_to
from transformer_edu import recordings
from transformer_edu.book.figures import bertviz_head_view, bertviz_model_view
from transformer_edu.book.figures.bertviz_script import without_script

OPACITIES = "lines => lines.map((line) => line.getAttribute('stroke-opacity'))"
HOSTILE = "<img src=x onerror=alert(1)>"
RECORDED = recordings.load("running-sentence")["data"]
MAPS, SOURCE, TARGET = RECORDED["attention"], RECORDED["source_tokens"], RECORDED["predicted_tokens"]
CONFIG = f"""
import sys
sys.path.insert(0, {str(ROOT / "book/_ext")!r})
project = "bertviz"
extensions = ["bertviz_offline"]
html_theme = "basic"
html_theme_options = {{"nosidebar": True}}
templates_path = ["."]
"""
PAGES = {
    "index": [],
    "folder/both": [
        bertviz_head_view(MAPS, SOURCE, TARGET, attention="cross", layer=1),
        bertviz_model_view(MAPS, SOURCE, TARGET),
    ],
    "folder/twice": [bertviz_head_view(MAPS, SOURCE, TARGET)] * 2,
    "folder/hostile": [bertviz_head_view({"encoder.0.self": [[[0.5, 0.5], [1, 0]]]}, [HOSTILE, "</script><b>x</b>"])],
}


def stored(view):
    """A view as a chapter stores it: without bertviz's script, with a still."""
    output = nbformat.v4.new_output("display_data", {"text/html": without_script(view.markup)})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("view", outputs=[output])])
    with ThreadPoolExecutor(1) as thread:  # this thread's Playwright is busy with the tests' own browser
        thread.submit(take_stills.insert_stills, notebook).result()
    return str(output.data["text/html"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A few pages with stored views, built by Sphinx with warnings as errors."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    (source / "folder").mkdir()
    (source / "conf.py").write_text(CONFIG)
    (source / "layout.html").write_text('{% extends "!layout.html" %}{% block relbar2 %}{% endblock %}')
    toctree = "".join(f"   {name}\n" for name in PAGES if name != "index")
    for name, views in PAGES.items():
        body = "".join(
            ".. raw:: html\n\n" + "".join(f"   {line}\n" for line in stored(view).splitlines()) + "\n" for view in views
        )
        contents = f".. toctree::\n\n{toctree}" if name == "index" else ""
        (source / f"{name}.rst").write_text(f"Views\n=====\n\n{body}{contents}")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(source), str(built)]
    subprocess.run(command, check=True)
    return built


@pytest.fixture
def opened(site, strict_page):
    """`opened("both")` shows a page from disk, its views drawn."""

    def open_page(name):
        watched = strict_page()
        page = watched.open((site / f"folder/{name}.html").as_uri())
        page.wait_for_function("[...document.querySelectorAll('.te-bertviz')].every((v) => v.dataset.ready)")
        return watched

    return open_page


def view(page, kind):
    return page.locator(f".te-bertviz[aria-label='bertviz, {kind} view']")


def opacities(lines):
    return torch.tensor([float(line) for line in lines.evaluate_all(OPACITIES)])


def assert_weights(head_view, head, weights, shown=4):
    """A head's lines show its weights, row by row: bertviz divides them by the number of heads shown."""
    lines = head_view.locator(f"g.headAttention[head-index='{head}'] line")
    close(shown * opacities(lines), torch.tensor(weights).flatten())


def words(drawing):
    return drawing.locator(".bv-words").inner_text()


def test_without_javascript_there_are_stills_with_words(site, strict_page):
    page = strict_page(java_script_enabled=False).page
    page.goto((site / "folder/both.html").as_uri())
    stills = page.locator(".te-bertviz .te-still")
    assert stills.count() == 2
    for still, start in zip(stills.all(), ("Cross-attention, layer 2. Two columns", "Encoder self-"), strict=True):
        still.scroll_into_view_if_needed()
        assert str(still.get_attribute("alt")).startswith(start)
        assert still.bounding_box()["height"] > 150
    assert page.locator(".te-bertviz .bv-controls:visible").count() == 0


def test_model_view_keeps_menu_and_pictures_together(opened):
    model_view = view(opened("both").page, "model")
    model_view.locator("#attn_background_0_1 ~ rect").click()
    assert model_view.get_by_label("enlarge").input_value() == "1"
    model_view.locator("#filter").select_option(label="cross-attention")
    assert model_view.get_by_label("enlarge").input_value() == "-1"
    model_view.get_by_label("enlarge").select_option("1")
    assert model_view.locator(".detail .token").all_text_contents() == TARGET + SOURCE


def test_text_that_looks_like_markup_stays_text(opened):
    watched = opened("hostile")
    head_view = view(watched.page, "head")
    head_view.get_by_label("who looks").select_option("0")
    assert HOSTILE in words(head_view)
    assert HOSTILE in head_view.locator("#left text").all_text_contents()
    assert head_view.locator("img, b").count() == 0
    watched.assert_clean()


def test_without_network_a_live_view_says_what_is_missing(tmp_path, strict_page):
    page_file = tmp_path / "live.html"
    page_file.write_text(f"<!doctype html><title>live</title>{PAGES['folder/both'][0].markup}", encoding="utf-8")
    watched = strict_page()
    page = watched.open(page_file.as_uri())
    page.wait_for_selector(".te-bertviz[data-ready=failed]")
    assert "cdnjs.cloudflare.com" in page.locator("#vis").inner_text()
    assert all(url.startswith("https://cdnjs.cloudflare.com/ajax/libs/") for url in watched.foreign)


def test_views_are_drawn_from_disk_accessible_and_fit_a_phone(opened):
    watched = opened("both")
    page = watched.page
    assert page.locator(".te-bertviz[data-ready=true]").count() == 2
    assert page.locator(".te-still").count() == 0
    assert not axe_problems(page)
    page.emulate_media(color_scheme="dark")
    assert overflow(page) <= 0
    assert not axe_problems(page)
    watched.assert_clean()


def test_views_are_drawn_over_http(site, serve, strict_page):
    watched = strict_page()
    page = watched.open(f"{serve(site)}/folder/both.html")
    page.wait_for_selector(".te-bertviz[data-ready=true] >> nth=1")
    watched.assert_clean()


def test_a_page_loads_bertviz_once_and_only_if_it_has_a_view(site):
    none, both, twice = ((site / f"{name}.html").read_text() for name in ("index", "folder/both", "folder/twice"))
    assert "bertviz-libraries" not in none
    assert 'content="../_static/bertviz/"' in both
    for html, loaded in ((both, [1, 1]), (twice, [1, 0])):
        assert [html.count(f'src="../_static/bertviz/{kind}.js"') for kind in ("head", "model")] == loaded
    assert "@fileoverview" not in both
    assert "@fileoverview" in (site / "_static/bertviz/head.js").read_text()
    assert "Apache License" in (site / "_static/bertviz/LICENSE.txt").read_text()


def test_head_view_draws_every_word_and_every_weight(opened):
    head_view = view(opened("both").page, "head")
    sides = [head_view.locator(f"#{side} text").all_text_contents() for side in ("left", "right")]
    assert sides == [TARGET, SOURCE]
    for head, weights in enumerate(MAPS["decoder.1.cross"]):
        assert_weights(head_view, head, weights)


def test_attention_layer_and_word_are_chosen_by_keyboard_alone(opened):
    page = opened("both").page
    head_view, recorded = view(page, "head"), MAPS["decoder.0.self"]
    tab_to(page, "#filter")
    page.keyboard.press("ArrowUp")
    assert head_view.locator("#right text").all_text_contents() == ["<bos>", *TARGET[:-1]]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    assert_weights(head_view, 3, recorded[3])
    page.keyboard.press("Tab")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert f"“{TARGET[3]}” looks most: head 1 at" in words(head_view)
    assert f"({max(recorded[0][3]):.2f})" in words(head_view)
    assert head_view.locator("#attention line[visibility=visible]").count() == 4 * len(TARGET)


def test_heads_are_switched_by_keyboard_and_the_last_one_stays(opened):
    head_view = view(opened("both").page, "head")
    boxes = head_view.get_by_role("checkbox").all()
    boxes[0].press("Space")
    assert [box.is_checked() for box in boxes] == [False, True, True, True]
    assert_weights(head_view, 0, torch.zeros(len(TARGET), len(SOURCE)).tolist())
    assert_weights(head_view, 1, MAPS["decoder.1.cross"][1], shown=3)
    boxes[0].press("Space")
    assert_weights(head_view, 0, MAPS["decoder.1.cross"][0])
    for box in boxes:
        box.press("Space")
    assert [box.is_checked() for box in boxes] == [False, False, False, True]


def test_pointing_at_a_word_shows_its_lines_and_leaving_shows_the_chosen_word_again(opened):
    head_view = view(opened("both").page, "head")
    head_view.get_by_label("who looks").select_option(label="chat")
    shown = head_view.locator("#attention line[visibility=visible]").first
    head_view.locator("#left text").first.hover()
    assert shown.get_attribute("left-token-index") == "0"
    head_view.locator(".bv-words").hover()
    assert shown.get_attribute("left-token-index") == str(TARGET.index("chat"))


def test_model_view_shows_every_head_and_enlarges_one(opened):
    model_view = view(opened("both").page, "model")
    assert model_view.locator(".attn_background").count() == 2 * 4
    assert model_view.locator("svg line").count() == 2 * 4 * len(SOURCE) ** 2
    enlarge = model_view.get_by_label("enlarge")
    for _ in range(7):
        enlarge.press("ArrowDown")
    close(opacities(model_view.locator(".detail line")), torch.tensor(MAPS["encoder.1.self"][2]).flatten())
    assert words(model_view).startswith("Layer 2, head 3, each word and what it looks at most: the →")
    inside, frame = model_view.locator("svg").bounding_box(), model_view.locator("rect.detail").bounding_box()
    assert frame["x"] + frame["width"] <= inside["x"] + inside["width"]
    enlarge.select_option("-1")
    assert model_view.locator(".detail").count() == 0


def test_the_same_view_twice_on_a_page_works_twice(opened):
    watched = opened("twice")
    watched.page.locator("#layer").nth(1).select_option("2")
    for layer, head_view in enumerate(view(watched.page, "head").all()):
        assert head_view.locator("#layer option").count() == 2
        assert_weights(head_view, 0, MAPS[f"encoder.{layer}.self"][0])
    watched.assert_clean()

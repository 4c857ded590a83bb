"""The still pictures of figures: kept while they are true, taken anew when they are not, found when damaged."""

import base64
import re
from collections.abc import Callable
from html import unescape
from io import BytesIO
from types import SimpleNamespace

import nbformat
import pytest
import take_stills
from PIL import Image

from transformer_edu.book.figures import AttentionStepper, assets

FIGURE, OTHER = AttentionStepper(), AttentionStepper(step=2)
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda png: b"",
    "cut": lambda png: png[: len(png) // 2],
    "without its end": lambda png: png[:-1],
    "altered": lambda png: png[: len(png) // 2] + bytes([png[len(png) // 2] ^ 1]) + png[len(png) // 2 + 1 :],
    "text": lambda png: b"PNG",
}
damaged = pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))


def as_png(picture):
    png = BytesIO()
    picture.save(png, "PNG")
    return png.getvalue()


PICTURE = as_png(Image.linear_gradient("L"))


def notebook_with(*figures):
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html}) for html in figures]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("figure", outputs=outputs)])


def html_of(notebook):
    return [output.data["text/html"] for output in notebook.cells[0].outputs]


@pytest.fixture
def camera(monkeypatch):
    """Stand in for the browser; remember what it was asked to take."""
    asked: list[list[str]] = []

    def take(figures):
        asked.append(figures)
        return [as_png(Image.new("RGB", (40, 20 * len(asked))))] * len(figures)

    monkeypatch.setattr(take_stills, "take", take)
    return asked


def test_stills_are_inserted_with_alt_text_and_size(camera):
    notebook = notebook_with(FIGURE.html(), OTHER.html())
    assert take_stills.insert_stills(notebook) == 2
    for html, figure in zip(html_of(notebook), (FIGURE, OTHER), strict=True):
        image = re.search(r'<img class="te-still"[^>]*>', html)
        assert image is not None
        assert 'width="20" height="10"' in image[0]
        assert f'alt="{figure.alt_text()}"' in unescape(image[0])
        base64.b64decode(re.findall(r"base64,([^\"]+)", image[0])[0], validate=True)


def test_true_stills_are_kept_without_a_browser_and_a_changed_figure_gets_a_new_one(camera):
    before, after = notebook_with(FIGURE.html()), notebook_with(FIGURE.html())
    take_stills.insert_stills(before)
    assert take_stills.insert_stills(after, before) == 0
    assert html_of(after) == html_of(before)
    assert take_stills.insert_stills(after) == 0
    assert len(camera) == 1
    image = re.findall(r"<img[^>]*>", html_of(before)[0])[0]
    changed = notebook_with(OTHER.html().replace("<!--still-->", image))
    assert take_stills.insert_stills(changed) == 1
    assert len(camera) == 2


@damaged
def test_a_damaged_still_in_a_chapter_is_found_and_taken_anew(camera, tmp_path, damage):
    notebook, path = notebook_with(FIGURE.html()), tmp_path / "chapter.ipynb"
    take_stills.insert_stills(notebook)
    (whole,) = html_of(notebook)
    bad = base64.b64encode(damage(PICTURE)).decode()
    notebook.cells[0].outputs[0].data["text/html"] = re.sub(r"(?<=base64,)[^\"]+", bad, whole)
    nbformat.write(notebook, path)
    assert [take_stills.update_notebook(path, check=check) for check in (True, False, True)] == [1, 1, 0]


def test_a_figure_whose_html_is_damaged_does_not_pass_for_none(tmp_path):
    path, html = tmp_path / "chapter.ipynb", FIGURE.html()
    nbformat.write(notebook_with(html, html[: len(html) // 2]), path)
    with pytest.raises(SystemExit, match="chapter: 1 of 2 stored figures are damaged"):
        take_stills.update_notebook(path, check=True)


@damaged
def test_the_build_misses_a_damaged_still_of_a_page_and_warns_of_one_in_a_chapter(
    root, tmp_path, monkeypatch, caplog, damage
):
    html = FIGURE.html()
    name = f"attention-stepper-{assets.digest(html)}.png"
    monkeypatch.setattr(take_stills, "STILLS", tmp_path)
    monkeypatch.setattr(take_stills, "page_figures", lambda: {name: html})
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import figures

    app, context = SimpleNamespace(outdir=tmp_path), {"pagename": "page", "pathto": lambda name, _: name}
    for png, bad in ((PICTURE, False), (damage(PICTURE), True)):
        (tmp_path / name).write_bytes(png)
        assert take_stills.update_pages(check=True) == bad
        assert (figures.NO_STILL in figures.with_still(html, "alt", "attention-stepper", tmp_path)) == bad
        still = f'<img class="te-still" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        assert 'src="_images/still-' in figures.stills_as_files(app, context, still)
        assert ("still picture of a figure is damaged" in caplog.text) == bad
    assert "<img" in assets.still_image(PICTURE, "alt", "mark")
    with pytest.raises(ValueError, match="png must be a whole PNG file"):
        assets.still_image(damage(PICTURE), "alt", "mark")


def test_a_full_disk_leaves_a_chapter_a_still_and_a_saved_figure_as_they_were(camera, tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "chapter.ipynb"
    nbformat.write(notebook_with(FIGURE.html()), path)
    (tmp_path / "figure.html").write_text("old")
    monkeypatch.setattr(take_stills, "STILLS", tmp_path / "stills")
    monkeypatch.setattr(take_stills, "page_figures", lambda: {"new.png": FIGURE.html()})
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    for write in (
        lambda: take_stills.update_notebook(path, check=False),
        lambda: take_stills.update_pages(check=False),
        lambda: FIGURE.save(tmp_path / "figure.html"),
    ):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert (path.read_bytes(), (tmp_path / "figure.html").read_text()) == (before, "old")
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["chapter.ipynb", "figure.html", "stills"]


def test_markdown_pages_are_searched_for_figures(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "state.json").write_text('{"step": 3}')
    fence = "```{interactive} attention-stepper\n:state: state.json\n:alt: Words.\n```\n"
    (tmp_path / "book" / "page.md").write_text(f"{fence}\n:::{{interactive}} attention-stepper\n:::\n")
    first, second = take_stills.page_figures(tmp_path).values()
    assert 'data-alt="Words."' in first
    assert '"step":3' in first
    assert second == FIGURE.html()

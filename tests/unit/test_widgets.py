"""The interactive figures as Python objects: their HTML, their joined modules, their stills, their errors."""

import base64
import json
import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import take_stills
import torch
from PIL import Image

from transformer_edu import hand_example
from transformer_edu.widgets import (
    AttentionMap,
    AttentionStepper,
    Figure,
    NormCube,
    NormPlacement,
    SoftmaxLab,
    assets,
    figure_from_file,
    make_figure,
)

NAMES = sorted(Figure.registry)


class Scripts(HTMLParser):
    """Collects the text of every <script>, as a browser would see it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def stored_state(html: str) -> dict[str, Any]:
    parser = Scripts()
    parser.feed(html)
    assert parser.tags == ["div", "script"]
    return json.loads(parser.texts[0])


@pytest.mark.parametrize("name", NAMES)
def test_html_holds_the_whole_state_and_is_the_same_every_time(name: str) -> None:
    first, second = make_figure(name), make_figure(name)
    assert first.html() == second.html()
    assert repr(first) == repr(second) == f"<figure {name}>"
    assert stored_state(first.html()) == json.loads(json.dumps(first.state()))
    assert " id=" not in first.html()


@pytest.mark.parametrize("name", NAMES)
def test_a_module_has_nothing_left_to_import(name: str) -> None:
    source = assets.module_source(name)
    assert not re.search(r"^\s*import\b", source, re.MULTILINE)
    assert re.findall(r"^export\b.*", source, re.MULTILINE) == ["export default { render };"]


@pytest.mark.parametrize("name", NAMES)
def test_no_top_level_name_is_declared_twice(name: str) -> None:
    declared = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", assets.module_source(name), re.MULTILINE)
    assert sorted(declared) == sorted(set(declared))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_describes_itself(name: str) -> None:
    alt = make_figure(name).alt_text()
    assert 30 < len(alt) < 600
    assert alt.endswith(".")


def test_mime_bundle_has_view_html_and_text() -> None:
    bundle = AttentionStepper()._repr_mimebundle_()
    assert bundle is not None
    data = bundle[0]
    assert data["text/plain"] == "<figure attention-stepper>"
    assert data["text/html"].startswith('<div class="te-figure" data-widget="attention-stepper" data-alt="Attention')
    assert "application/vnd.jupyter.widget-view+json" in data


def test_hostile_tokens_cannot_leave_the_json_or_the_alt_text() -> None:
    tokens = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u2028<!--"]
    html = AttentionStepper(tokens=tokens).html()
    assert stored_state(html)["tokens"] == tokens
    assert html.count("<script") == html.count("</script>") == 1
    assert "<img" not in html


def test_alt_text_gives_the_weights_that_torch_computes() -> None:
    hand = hand_example()
    for scale, mask in [(True, "none"), (False, "none"), (True, "causal"), (True, "padding")]:
        scores = (hand.x @ hand.w_q) @ (hand.x @ hand.w_k).T / (2 if scale else 1)
        allowed = {"none": torch.ones(3, 3), "causal": torch.ones(3, 3).tril(), "padding": torch.tensor([1, 1, 0])}[
            mask
        ]
        weights = scores.masked_fill(allowed.expand(3, 3) == 0, -torch.inf).softmax(-1)
        for query in range(3):
            alt = AttentionStepper(query=query, scale=scale, mask=mask).alt_text()
            shown = [float(number) for number in re.findall(r"(\d\.\d{3}) to", alt)]
            assert shown == pytest.approx(weights[query].tolist(), abs=5.01e-4)


def test_a_query_with_nowhere_to_look_has_no_weights() -> None:
    alone = AttentionStepper(["pad"], [[1.0]], [[1]], [[1]], [[1]], [[1]], mask="padding")
    assert "0.000 to pad" in alone.alt_text()


def test_tensors_and_lists_give_the_same_figure() -> None:
    hand = hand_example()
    lists = AttentionStepper(hand.tokens, *(m.tolist() for m in (hand.x, hand.w_q, hand.w_k, hand.w_v, hand.w_o)))
    assert lists.html() == AttentionStepper().html()


BAD: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (TypeError, "tokens", {"tokens": "the black cat"}),
    (TypeError, "tokens", {"tokens": [1, 2, 3]}),
    (ValueError, "tokens", {"tokens": []}),
    (ValueError, "x must have one row", {"tokens": ["the", "cat"]}),
    (TypeError, "x must be a matrix", {"x": [1, 2, 3]}),
    (ValueError, "x must have 1 to 8 rows", {"x": [[1, 2], [1], [1, 2]]}),
    (ValueError, "x must hold finite numbers", {"x": [[float("nan")] * 4] * 3}),
    (ValueError, "w_q must have 4 rows", {"w_q": [[1, 2], [3, 4]]}),
    (ValueError, "w_k must have 4 columns", {"w_k": [[1]] * 4}),
    (ValueError, "w_o must have 4 rows", {"w_o": [[1]]}),
    (ValueError, "step must be from 1 to 7, got 8", {"step": 8}),
    (TypeError, "step", {"step": "5"}),
    (ValueError, "query must be from 0 to 2, got 3", {"query": 3}),
    (ValueError, "part must be one of 'q', 'k', 'v', got 'w'", {"part": "w"}),
    (ValueError, "mask must be one of", {"mask": "future"}),
    (TypeError, "scale", {"scale": 1}),
]


@pytest.mark.parametrize(("error", "message", "arguments"), BAD)
def test_bad_arguments_are_named(error: type[Exception], message: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        AttentionStepper(**arguments)


ROWS = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
UNREADABLE = {
    "sparse": ROWS.to_sparse(),
    "meta": ROWS.to("meta"),
    "blocked": ROWS.to_mkldnn(),
}
TAKES_NUMBERS: dict[str, Callable[[Any], Figure]] = {
    "x": lambda x: AttentionStepper(x=x),
    "scores": lambda x: SoftmaxLab(x),
    "maps['decoder.0.cross']": lambda x: AttentionMap({"decoder.0.cross": x}, ["a", "b"], ["c", "d"]),
    "sentences[0]['x']": lambda x: NormCube([{"tokens": ["a", "b"], "x": x}] * 2),
    "x must": lambda x: NormPlacement(x=x),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("name", TAKES_NUMBERS)
def test_a_tensor_whose_numbers_cannot_be_read_is_named(kind: str, name: str) -> None:
    with pytest.raises(TypeError, match=rf"{re.escape(name)}.*dense tensor whose numbers can be read, got Tensor"):
        TAKES_NUMBERS[name](UNREADABLE[kind])


@pytest.mark.parametrize("name", TAKES_NUMBERS)
def test_a_number_beyond_all_floats_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=re.escape(name)):
        TAKES_NUMBERS[name]([[10**400, 0], [0, 1]])


def test_unknown_figures_are_refused() -> None:
    with pytest.raises(ValueError, match=r"name must be one of .*attention-stepper.*, got 'stepper'"):
        make_figure("stepper")
    with pytest.raises(TypeError, match="name must be a str"):
        assets.check_figure_name(3)


def test_state_comes_from_a_file_or_a_recording(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text('{"step": 2}')
    (tmp_path / "recording.json").write_text('{"command": "x", "state": {"step": 2}}')
    (tmp_path / "list.json").write_text("[1]")
    plain, recording = (figure_from_file("attention-stepper", tmp_path / f"{n}.json") for n in ("plain", "recording"))
    assert plain.html() == recording.html() != figure_from_file("attention-stepper").html()
    with pytest.raises(TypeError, match="path must lead to a JSON object"):
        figure_from_file("attention-stepper", tmp_path / "list.json")


def test_a_saved_figure_asks_for_nothing_from_outside(tmp_path: Path) -> None:
    page = AttentionStepper().save(tmp_path / "figure.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="', page)
    assert page.count('data-widget="attention-stepper"') == 1


def notebook_with(*figures: str) -> nbformat.NotebookNode:
    outputs = [nbformat.v4.new_output("display_data", {"text/html": html}) for html in figures]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("figure", outputs=outputs)])


def html_of(notebook: nbformat.NotebookNode) -> list[str]:
    return [output.data["text/html"] for output in notebook.cells[0].outputs]


@pytest.fixture
def camera(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stand in for the browser; remember what it was asked to take."""
    asked: list[list[str]] = []

    def take(figures: list[str]) -> list[bytes]:
        asked.append(figures)
        png = BytesIO()
        Image.new("RGB", (40, 20 * len(asked))).save(png, "PNG")
        return [png.getvalue()] * len(figures)

    monkeypatch.setattr(take_stills, "take", take)
    return asked


def test_stills_are_inserted_with_alt_text_and_size(camera: list[list[str]]) -> None:
    notebook = notebook_with(AttentionStepper().html(), AttentionStepper(step=2).html())
    assert take_stills.insert_stills(notebook) == 2
    for html, figure in zip(html_of(notebook), (AttentionStepper(), AttentionStepper(step=2)), strict=True):
        image = re.search(r'<img class="te-still"[^>]*>', html)
        assert image is not None
        assert 'width="20" height="10"' in image[0]
        assert f'alt="{figure.alt_text()}"' in unescape(image[0])
        base64.b64decode(re.findall(r"base64,([^\"]+)", image[0])[0], validate=True)


def test_true_stills_are_kept_and_need_no_browser(camera: list[list[str]]) -> None:
    before = notebook_with(AttentionStepper().html())
    take_stills.insert_stills(before)
    after = notebook_with(AttentionStepper().html())
    assert take_stills.insert_stills(after, before) == 0
    assert html_of(after) == html_of(before)
    assert take_stills.insert_stills(after) == 0
    assert len(camera) == 1


def test_a_changed_figure_gets_a_new_still(camera: list[list[str]]) -> None:
    notebook = notebook_with(AttentionStepper().html())
    take_stills.insert_stills(notebook)
    old = html_of(notebook)[0]
    image = re.search(r"<img[^>]*>", old)
    assert image is not None
    changed = notebook_with(AttentionStepper(step=2).html().replace("<!--still-->", image[0]))
    assert take_stills.insert_stills(changed) == 1
    assert len(camera) == 2


def damage(png: bytes) -> dict[str, bytes]:
    middle = len(png) // 2
    flipped = png[:middle] + bytes([png[middle] ^ 1]) + png[middle + 1 :]
    return {"empty": b"", "cut": png[:middle], "without its end": png[:-1], "altered": flipped, "text": b"PNG"}


@pytest.fixture
def picture() -> bytes:
    png = BytesIO()
    Image.linear_gradient("L").save(png, "PNG")
    return png.getvalue()


@pytest.mark.parametrize("how", damage(bytes(2)))
def test_a_damaged_still_in_a_chapter_is_found_and_taken_anew(
    camera: list[list[str]], picture: bytes, tmp_path: Path, how: str
) -> None:
    notebook, path = notebook_with(AttentionStepper().html()), tmp_path / "chapter.ipynb"
    take_stills.insert_stills(notebook)
    (whole,) = html_of(notebook)
    bad = base64.b64encode(damage(picture)[how]).decode()
    notebook.cells[0].outputs[0].data["text/html"] = re.sub(r"(?<=base64,)[^\"]+", bad, whole)
    nbformat.write(notebook, path)
    assert take_stills.update_notebook(path, check=True) == 1
    assert take_stills.update_notebook(path, check=False) == 1
    assert take_stills.update_notebook(path, check=True) == 0


def test_a_figure_whose_html_is_damaged_does_not_pass_for_none(tmp_path: Path) -> None:
    path = tmp_path / "chapter.ipynb"
    html = AttentionStepper().html()
    nbformat.write(notebook_with(html, html[: len(html) // 2]), path)
    with pytest.raises(SystemExit, match="chapter: 1 of 2 stored figures are damaged"):
        take_stills.update_notebook(path, check=True)


@pytest.mark.parametrize("how", damage(bytes(2)))
def test_a_damaged_still_of_a_page_is_missing_to_the_check_and_to_the_build(
    root: Path, picture: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    html = AttentionStepper().html()
    name = f"attention-stepper-{assets.digest(html)}.png"
    monkeypatch.setattr(take_stills, "STILLS", tmp_path)
    monkeypatch.setattr(take_stills, "page_figures", lambda: {name: html})
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import figures

    for content, missing in ((picture, False), (damage(picture)[how], True)):
        (tmp_path / name).write_bytes(content)
        assert take_stills.update_pages(check=True) == missing
        assert (figures.NO_STILL in figures.with_still(html, "alt", "attention-stepper", tmp_path)) == missing


@pytest.mark.parametrize("how", damage(bytes(2)))
def test_the_build_warns_of_a_damaged_still_in_a_chapter(
    root: Path,
    picture: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    monkeypatch.syspath_prepend(root / "book" / "_ext")
    import figures

    app, context = SimpleNamespace(outdir=tmp_path), {"pagename": "page", "pathto": lambda name, _: name}
    for content, warns in ((picture, False), (damage(picture)[how], True)):
        figures.STILL.sub(
            lambda found: figures.still_file(app, context, found[2]),
            f'<img class="te-still" src="data:image/png;base64,{base64.b64encode(content).decode()}">',
        )
        assert ("still picture of a figure is damaged" in caplog.text) == warns


def test_a_picture_that_is_damaged_never_becomes_a_still(picture: bytes) -> None:
    assert "<img" in assets.still_image(picture, "alt", "mark")
    for bad in damage(picture).values():
        with pytest.raises(ValueError, match="png must be a whole PNG file"):
            assets.still_image(bad, "alt", "mark")


def test_a_full_disk_leaves_a_chapter_a_still_and_a_saved_figure_as_they_were(
    camera: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "chapter.ipynb"
    nbformat.write(notebook_with(AttentionStepper().html()), path)
    (tmp_path / "figure.html").write_text("old")
    monkeypatch.setattr(take_stills, "STILLS", tmp_path / "stills")
    monkeypatch.setattr(take_stills, "page_figures", lambda: {"new.png": AttentionStepper().html()})
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    for write in (
        lambda: take_stills.update_notebook(path, check=False),
        lambda: take_stills.update_pages(check=False),
        lambda: AttentionStepper().save(tmp_path / "figure.html"),
    ):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert (path.read_bytes(), (tmp_path / "figure.html").read_text()) == (before, "old")
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["chapter.ipynb", "figure.html", "stills"]


def test_a_figure_that_cannot_be_encoded_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "figure.html").write_text("old")
    with pytest.raises(ValueError, match="surrogates"):
        AttentionStepper(tokens=["the", "\udcff", "cat"]).save(tmp_path / "figure.html")
    assert (tmp_path / "figure.html").read_text() == "old"


def test_markdown_pages_are_searched_for_figures(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "state.json").write_text('{"step": 3}')
    fence = "```{interactive} attention-stepper\n:state: state.json\n:alt: Words.\n```\n"
    text = f"{fence}\n:::{{interactive}} attention-stepper\n:::\n"
    (tmp_path / "book" / "page.md").write_text(text)
    first, second = take_stills.page_figures(tmp_path).values()
    assert 'data-alt="Words."' in first
    assert stored_state(first)["step"] == 3
    assert second == AttentionStepper().html()

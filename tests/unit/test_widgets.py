"""What every interactive figure keeps: its HTML, its joined module, its state, its words, its errors.

A figure's own test, test_NAME.py, has EXAMPLE, arguments of a state that is not the default. It may have BAD, what it
refuses, each as (error, words of its message, arguments), and SAYS: (arguments, what its alt text then says, ...).
"""

import gzip
import inspect
import json
import re
from html.parser import HTMLParser
from importlib import import_module

import pytest

from transformer_edu.book.engine import source
from transformer_edu.book.figures import (
    AttentionStepper,
    Figure,
    assets,
    figure_from_file,
    make_figure,
)

pytestmark = pytest.mark.usefixtures("at_readers_speed")  # shapes are checked in the figures' own tests
NAMES = sorted(Figure.registry)
LARGEST = {"training-replay": 34_000, "induction": 20_000}  # heads at 66 moments; a model that copies letters
OWN = {name: import_module(f"tests.unit.test_{name.replace('-', '_')}") for name in NAMES}


def arguments(name):
    parameters = inspect.signature(Figure.registry[name]).parameters.values()
    return [option.name for option in parameters if option.name != "self" and option.kind is not option.VAR_KEYWORD]


class Scripts(HTMLParser):
    """Collects the text of every <script>, as a browser would see it."""

    def __init__(self):
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def stored_state(html):
    parser = Scripts()
    parser.feed(html)
    assert parser.tags == ["div", "script"] + ["script"] * ("data-opens" in html)
    return json.loads(parser.texts[0])


def test_every_module_in_js_has_its_figure_and_every_figure_its_module():
    assert assets.figure_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_html_holds_the_whole_state_and_is_the_same_every_time(name):
    first, second = make_figure(name), make_figure(name)
    assert first.html() == second.html()
    assert repr(first) == repr(second) == f"<figure {name}>"
    assert stored_state(first.html()) == json.loads(json.dumps(first.state()))
    assert " id=" not in first.html()


@pytest.mark.long
@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize("name", NAMES)
def test_state_makes_the_same_figure_again(name):
    example = OWN[name].EXAMPLE
    figure = make_figure(name, **example)
    accepted = {*example, *arguments(name)}
    again = make_figure(name, **{key: value for key, value in figure.state().items() if key in accepted})
    assert again.html() == figure.html() != make_figure(name).html()


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("name", "case"), [(name, case) for name in NAMES for case in getattr(OWN[name], "BAD", [])])
def test_bad_input_is_named(name, case):
    error, words, arguments = case
    with pytest.raises(error, match=re.escape(words)):
        make_figure(name, **arguments)


@pytest.mark.long
@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("name", "argument"), [(name, argument) for name in NAMES for argument in arguments(name)])
def test_every_argument_is_checked_and_its_error_names_it(name, argument):
    refused = []
    for value in (-1, 10**6, 2.5, "?", [], object()):
        try:
            make_figure(name, **OWN[name].EXAMPLE | {argument: value})
        except (TypeError, ValueError) as error:
            refused.append(str(error))
    assert any(re.search(rf"\b{argument}\b", message) for message in refused)
    for message in refused:
        assert " must " in message
        assert re.search(r", (got|not the) ", message), "the value is shown"
        assert any(re.search(rf"\b{parameter}\b", message) for parameter in arguments(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_module_has_nothing_left_to_import(name):
    text = assets.module_source(name)
    assert not re.search(r"\bimport\b(?!\((address|URL\.createObjectURL)\b)", text), (
        "but of what the kernel or the page hands over"
    )
    assert re.fullmatch(r".*;export\{\w+ as default\};\n", text, re.DOTALL)
    assert text.count("export{") == 1
    shared, own = assets.figure_script(assets.SHARED), assets.figure_script(name)
    assert "preact" in shared
    assert "preact" not in own, "what all figures share stands once on a page"
    assert "startEngine" not in own, "what runs a model, too"


def test_what_was_not_joined_says_how_to_do_it(monkeypatch, tmp_path):
    monkeypatch.setattr(source, "BUNDLES", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"next-word.js must be there.*tools/javascript.py bundle` makes it"):
        source.bundled("next-word")


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_describes_itself(name):
    alt = make_figure(name).alt_text()
    assert 30 < len(alt) < 600
    assert alt.endswith(".")
    for given, *phrases in getattr(OWN[name], "SAYS", []):
        said = make_figure(name, **given).alt_text()
        assert [phrase for phrase in phrases if phrase not in said] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_adds_at_most_15_kilobytes(name):
    own = make_figure(name).html() + source.bundled(name) + assets.own_styles(name)
    assert len(gzip.compress(own.encode())) <= LARGEST.get(name, 15_000)


def test_what_all_figures_share_has_at_most_25_kilobytes_and_what_runs_a_model_10():
    assert len(gzip.compress(source.bundled(assets.SHARED).encode())) <= 25_000
    assert len(gzip.compress(source.bundled(assets.ENGINE).encode())) <= 10_000


def test_mime_bundle_has_view_html_and_text():
    bundle = AttentionStepper()._repr_mimebundle_()
    assert bundle is not None
    data = bundle[0]
    assert data["text/plain"] == "<figure attention-stepper>"
    assert data["text/html"].startswith('<div class="te-figure" data-widget="attention-stepper" data-alt="Attention')
    assert "application/vnd.jupyter.widget-view+json" in data


def test_hostile_tokens_cannot_leave_the_json_or_the_alt_text():
    tokens = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u2028<!--"]
    html = AttentionStepper(tokens=tokens).html()
    assert stored_state(html)["tokens"] == tokens
    assert html.count("<script") == html.count("</script>") == 1
    assert "<img" not in html


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("name", "argument"), [("training-replay", "replay")])
def test_what_is_no_recording_is_named(name, argument):
    data = dict(make_figure(name).state()[argument])
    missing, _ = data.popitem()
    with pytest.raises(ValueError, match=rf"{argument} must have .*, got none of {missing}"):
        make_figure(name, **{argument: data})
    with pytest.raises(TypeError, match=f"{argument} must be a dict, as record_.* makes it, got list"):
        make_figure(name, **{argument: [1]})


def test_unknown_figures_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of .*attention-stepper.*, got 'stepper'"):
        make_figure("stepper")
    with pytest.raises(TypeError, match="name must be a str"):
        assets.check_figure_name(3)


def test_state_comes_from_a_file_or_a_recording(tmp_path):
    (tmp_path / "plain.json").write_text('{"step": 2}')
    (tmp_path / "recording.json").write_text('{"command": "x", "state": {"step": 2}}')
    (tmp_path / "list.json").write_text("[1]")
    plain, recording = (figure_from_file("attention-stepper", tmp_path / f"{n}.json") for n in ("plain", "recording"))
    assert plain.html() == recording.html() != figure_from_file("attention-stepper").html()
    with pytest.raises(TypeError, match="path must lead to a JSON object"):
        figure_from_file("attention-stepper", tmp_path / "list.json")


def test_a_saved_figure_asks_for_nothing_from_outside(tmp_path):
    page = AttentionStepper().save(tmp_path / "figure.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="', page)
    assert page.count('data-widget="attention-stepper"') == 1


def test_a_figure_that_cannot_be_encoded_leaves_the_old_file(tmp_path):
    (tmp_path / "figure.html").write_text("old")
    with pytest.raises(ValueError, match="surrogates"):
        AttentionStepper(tokens=["the", "\udcff", "cat"]).save(tmp_path / "figure.html")
    assert (tmp_path / "figure.html").read_text() == "old"


def selectors_of(sheet):
    """Every selector of a style sheet with those that it stands in."""
    found, stack, text = [], [], ""
    for letter in re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL):
        if letter == "{":
            stack.append(text.strip())
            found += [" ".join(stack)]
        elif letter == "}":
            stack.pop()
        text = "" if letter in "{};" else text + letter
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_styles_nothing_that_all_figures_share(name):
    css = assets.FOLDER / "css"
    shared = set(re.findall(r"\.(te-[\w-]+)", (css / "figures.css").read_text(encoding="utf-8")))
    own = css / f"{name}.css"
    for selector in selectors_of(own.read_text(encoding="utf-8") if own.exists() else ""):
        classes = set(re.findall(r"\.(te-[\w-]+)", selector))
        assert not classes or classes - shared, f"{selector} is in every figure of a page"

"""The decoder stepper as a Python object: its recording, its words, and what it refuses."""

import gzip
import json
import re
from typing import Any

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, recordings
from transformer_edu.widgets import DecoderStepper, assets, make_figure
from transformer_edu.widgets.decoder_stepper import find_node
from transformer_edu.widgets.decoder_stepper_data import record_branches

SHIPPED = pretrained.load_grammar()


def tree() -> dict[str, Any]:
    """A small tree: start -> le -> end, and start -> la."""
    return {
        "source": ["the", "cat"],
        "words": ["<bos>", "<eos>", "la", "le"],
        "translation": "le",
        "d_model": 8,
        "unit": 0.1,
        "largest_change": 0.0,
        "parent": [-1, 0, 0],
        "word": [0, 3, 2],
        "self": [[[10]], [[4, 6]], [[7, 3]]],
        "cross": [[[2, 8]], [[1, 9]], [[5, 5]]],
        "output": [[1], [2], [3]],
        "next": [[3, 2], [1, 3], [1, 3]],
        "p": [[6, 4], [9, 1], [8, 2]],
        "more": {},
    }


def test_default_has_written_three_words_and_looks_at_black() -> None:
    figure = DecoderStepper()
    assert figure.branches["source"] == RUNNING_SENTENCE.split()
    assert figure.branches["translation"] == RUNNING_TRANSLATION
    assert (figure.path, figure.layer) == (["le", "petit", "chat"], 1)
    assert re.search(r"at the English word black (0\.9|1\.0)\d\. Likeliest next words: noir 0\.9", figure.alt_text())


def test_recording_is_what_the_shipped_model_does_now() -> None:
    stored = recordings.load("decoder-branches")["data"]
    fresh = record_branches(SHIPPED, RUNNING_SENTENCE, also=("la",))
    assert fresh.keys() == stored.keys()
    likeliest = [[data["words"][row[0]] for row in data["next"]] for data in (fresh, stored)]
    assert likeliest[0] == likeliest[1]
    for at in (0, find_node(stored, ["le", "petit", "chat"]), find_node(stored, ["la", "petite", "chat", "noire"])):
        path = path_of(stored, at)
        now = find_node(fresh, path)
        for key in ("self", "cross", "output"):
            torch.testing.assert_close(torch.tensor(fresh[key][now]), torch.tensor(stored[key][at]), atol=2, rtol=0)


def path_of(data: dict[str, Any], at: int) -> list[str]:
    words: list[str] = []
    while data["parent"][at] >= 0:
        words.insert(0, data["words"][data["word"][at]])
        at = data["parent"][at]
    return words


def test_all_five_words_can_be_followed_from_every_step_of_the_translation() -> None:
    data = recordings.load("decoder-branches")["data"]
    for beginning in ([], ["la", "petite"], ["la", "petite", "chat"]):
        for count in range(1 if beginning else len(RUNNING_TRANSLATION.split()) + 1):
            path = beginning or RUNNING_TRANSLATION.split()[:count]
            at = find_node(data, path)
            assert len(data["next"][at]) == 5
            for word in data["next"][at]:
                assert find_node(data, [*path, data["words"][word]]) >= 0


def test_no_appended_word_ever_moved_an_earlier_output() -> None:
    assert 0 <= recordings.load("decoder-branches")["data"]["largest_change"] < 1e-5


def test_figure_stays_small() -> None:
    own = DecoderStepper().html() + assets.module_source("decoder-stepper").removeprefix(assets.core_source())
    own += (assets.FOLDER / "css/decoder-stepper.css").read_text(encoding="utf-8")
    assert len(gzip.compress(own.encode())) <= 40_000


def test_state_makes_the_same_figure_again() -> None:
    figure = DecoderStepper(path="la petite", layer=0)
    assert make_figure("decoder-stepper", **figure.state()).html() == figure.html()
    json.dumps(figure.state(), allow_nan=False)


def test_any_translator_and_sentence() -> None:
    figure = DecoderStepper.of_translator(SHIPPED, "a red hen sings", also=["le", "une rouge"], path="une rouge")
    assert figure.branches["translation"] == "une poule rouge chante"
    start = figure.branches["more"]["0"]
    assert "le" in [figure.branches["words"][word] for word, _, _ in start]
    with torch.no_grad():
        source = torch.tensor([SHIPPED.source_vocabulary.encode("a red hen sings")])
        logits = SHIPPED.model(source, torch.tensor([[1]]))[0, -1]
    first = logits.softmax(dim=-1)
    first[:2] = 0  # padding and the begin token are never written
    word, probability, place = start[0]
    index = SHIPPED.target_vocabulary.encode(figure.branches["words"][word])[0]
    assert probability * 1e-4 == pytest.approx(first[index].item(), abs=6e-5)
    assert place == int((first > first[index]).sum()) + 1


def test_recording_leaves_the_model_in_its_mode() -> None:
    model = SHIPPED.model
    model.train()
    try:
        record_branches(SHIPPED, "a hen sings")
        assert all(part.training for part in model.modules())
    finally:
        model.eval()


def test_alt_text_of_a_finished_sentence_and_of_an_empty_one() -> None:
    assert DecoderStepper(tree(), path=["le", "<eos>"]).alt_text().endswith("has written “le” and the end token.")
    empty = DecoderStepper(tree(), path="").alt_text()
    assert "written nothing yet" in empty
    assert "cat 0.80" in empty
    assert "le 0.600, la 0.400" in empty


BAD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "must have source, words": ({"translation": None}, {}),
    r"branches\['self'\]\[1\] must hold 2 weights for each layer, got \[1\]": (
        {"self": [[[10]], [[10]], [[7, 3]]]},
        {},
    ),
    r"branches\['cross'\]\[0\] must hold 2 weights": ({"cross": [[[10]], [[1, 9]], [[5, 5]]]}, {}),
    r"branches\['p'\] must have one entry for each of 3 nodes, got 1": ({"p": [[6, 4]]}, {}),
    r"branches\['p'\]\[2\] must be as long as 'next', got 1": ({"p": [[6, 4], [9, 1], [8]]}, {}),
    r"branches\['parent'\] must lead from each node": ({"parent": [-1, 2, 0]}, {}),
    "branches must name words by their place in 'words', below 4, at 0": ({"next": [[9, 2], [1, 3], [1, 3]]}, {}),
    "path must be recorded in the branches, got 'un' after 'le'": ({}, {"path": "le un"}),
    "layer must be from 0 to 0, got 1": ({}, {"layer": 1}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_values_are_named(message: str) -> None:
    changes, options = BAD[message]
    given = {key: value for key, value in (tree() | changes).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        DecoderStepper(given, **({"path": "le"} | options))


@pytest.mark.usefixtures("as_readers_run_it")
def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="branches must be a dict, as record_branches makes it, got list"):
        DecoderStepper([1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path must be a text or a list of words, got 3"):
        DecoderStepper(tree(), path=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "also", "words"),
    [
        ("the small zebra sleeps", (), "sentence must consist of words that the model knows, got ['zebra']"),
        (" ", (), "sentence must consist of words that the model knows, got ' '"),
        ("the cat sleeps", ("chatte",), "also must hold beginnings in words that the model writes, got ['chatte']"),
        ("the cat sleeps", ("",), "also must hold beginnings in words that the model writes, got ''"),
    ],
)
def test_words_that_the_model_does_not_know_are_named(sentence: str, also: tuple[str, ...], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        record_branches(SHIPPED, sentence, also=also)

"""The context explorer as a Python object: its recording, its words, and what it refuses."""

import gzip
import json
import re
from typing import Any

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer, pretrained, recordings
from transformer_edu.experiments.context_vectors import record_context_vectors
from transformer_edu.pretrained import Pretrained
from transformer_edu.widgets import ContextExplorer, assets, make_figure
from transformer_edu.widgets.context_explorer_data import record_vectors, shared_pairs, vector_at

SHIPPED = pretrained.load_grammar()


def vectors() -> dict[str, Any]:
    """Two sentences of two words, d_model 2, one layer."""
    return {
        "levels": ["embedding", "+ position", "layer 1"],
        "unit": 0.5,
        "sentences": [["the", "cat"], ["a", "cat"]],
        "translations": ["le chat", "un chat"],
        "embeddings": {"the": [2, 0], "cat": [0, 2], "a": [2, 2]},
        "positions": [[0, 1], [1, 0]],
        "layers": [[[[1, 2], [2, 0]]], [[[2, 2], [0, 4]]]],
    }


def test_default_is_the_word_that_the_other_sentence_moves_most() -> None:
    figure = ContextExplorer()
    data = figure.vectors
    assert data["sentences"][0] == RUNNING_SENTENCE.split()
    assert data["translations"][:2] == ["le petit chat noir ne dort pas", "la petite vache noire ne dort pas"]
    assert (figure.first, figure.second, figure.pair) == (0, 1, [0, 0])
    assert re.search(r"embedding 1\.000 and 0\.00, \+ position 1\.000 and 0\.00, layer 1 0\.9\d\d", figure.alt_text())


def test_recording_is_what_the_shipped_model_does_now() -> None:
    stored, fresh = recordings.load("context-vectors")["data"], record_context_vectors()
    assert fresh.keys() == stored.keys()
    for key in ("levels", "sentences", "translations"):
        assert fresh[key] == stored[key]
    for sentence, words in enumerate(stored["sentences"]):
        for level in range(len(stored["levels"])):
            for place in range(len(words)):
                one, other = (torch.tensor(vector_at(data, sentence, level, place)) for data in (stored, fresh))
                torch.testing.assert_close(one, other, atol=3e-4, rtol=0)


def test_alt_text_says_numbers_that_pencil_and_paper_give() -> None:
    told = ContextExplorer(vectors()).alt_text()
    assert "“cat”, word 2 of “the cat” and word 2 of “a cat”" in told
    assert "embedding 1.000 and 0.00, + position 1.000 and 0.00, layer 1 0.000 and 2.24" in told


def test_a_word_can_be_named_or_placed() -> None:
    assert ContextExplorer(second=5, word="small").pair == [1, 4]
    assert ContextExplorer(second=5, pair=[0, 3]).pair == [0, 3]
    assert ContextExplorer(first=5, second=5).pair == [0, 3]
    assert shared_pairs(["the", "cat"], ["the", "dog", "the"]) == [[0, 0], [0, 2]]


def test_state_makes_the_same_figure_again() -> None:
    figure = ContextExplorer(first=3, second=4, word="black")
    assert make_figure("context-explorer", **figure.state()).html() == figure.html()
    json.dumps(figure.state(), allow_nan=False)


def test_figure_stays_small() -> None:
    own = ContextExplorer().html() + assets.module_source("context-explorer").removeprefix(assets.core_source())
    own += (assets.FOLDER / "css/context-explorer.css").read_text(encoding="utf-8")
    assert len(gzip.compress(own.encode())) <= 40_000


def test_a_stack_with_a_final_norm_has_a_level_for_it() -> None:
    sizes = (len(SHIPPED.source_vocabulary), len(SHIPPED.target_vocabulary))
    model = build_transformer(*sizes, d_model=8, num_heads=2, d_ff=16, num_layers=1, norm="pre", max_len=8).train()
    translator = Pretrained(model, SHIPPED.source_vocabulary, SHIPPED.target_vocabulary, {})
    data = record_vectors(translator, ["the cat sleeps", "the hen sleeps"])
    assert data["levels"] == ["embedding", "+ position", "layer 1", "final norm"]
    assert model.training
    model.eval()
    memory = model.encode(torch.tensor([SHIPPED.source_vocabulary.encode("the hen sleeps")]))[0, 1]
    torch.testing.assert_close(torch.tensor(vector_at(data, 1, 3, 1)), memory.detach(), atol=6e-5, rtol=0)


BAD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "vectors must have levels, unit": ({"unit": None}, {}),
    r"vectors\['translations'\] must be 2, one a sentence, got 1": ({"translations": ["le chat"]}, {}),
    r"vectors\['layers'\]\[1\] must hold 2 vectors for each layer, got \[1\]": (
        {"layers": [[[[1, 2], [2, 0]]], [[[2, 2]]]]},
        {},
    ),
    r"vectors must all have d_model=2 numbers, got \[2, 3\] in 'a cat'": (
        {"layers": [[[[1, 2], [2, 0]]], [[[2, 2], [0, 4, 1]]]]},
        {},
    ),
    "must have an embedding and a position for each word of 'the cat'": ({"embeddings": {"cat": [0, 2]}}, {}),
    "must share a word, got 'the cat', 'a dog'": ({"sentences": [["the", "cat"], ["a", "dog"]]}, {}),
    "word must be in both sentences, got 'the': 'the cat', 'a cat'": ({}, {"word": "the"}),
    r"pair must be one of \[\[1, 1\]\], where both sentences have one word, got \[0, 0\]": ({}, {"pair": [0, 0]}),
    "first must be from 0 to 1, got 2": ({}, {"first": 2}),
    "second must be from 0 to 1, got 9": ({}, {"second": 9}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_values_are_named(message: str) -> None:
    changes, options = BAD[message]
    given = {key: value for key, value in (vectors() | changes).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        ContextExplorer(given, **options)


@pytest.mark.usefixtures("as_readers_run_it")
def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="vectors must be a dict, as record_vectors makes it, got list"):
        ContextExplorer([1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentences", "words"),
    [
        (["the cat sleeps"], "sentences must be at least two sentences, got ['the cat sleeps']"),
        ("the cat sleeps", "sentences must be at least two sentences, got 'the cat sleeps'"),
        (["the cat sleeps", "the zebra sleeps"], "words that the model knows, got ['zebra']: 'the zebra sleeps'"),
        (["the cat sleeps", ""], "words that the model knows, got none: ''"),
    ],
)
def test_sentences_that_cannot_be_read_are_named(sentences: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        record_vectors(SHIPPED, sentences)

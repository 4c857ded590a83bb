"""The attention map as a Python object: a model, tensors, and what it takes for attention weights."""

import base64

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, record_attention
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import AttentionMap
from transformer_edu.book.figures.attention_weights import first_crossing, mean_row
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.changes import changed

SOURCE, TARGET = ["the", "cat"], ["le", "chat", "<eos>"]


def numbers():
    """The grammar model's file, and where it looks in two sentences, as trained and with heads and looks taken away."""
    model, (english, french) = read_page_file(shipped_file("grammar"))
    answers = []
    for words in ("the small black cat does not sleep", "these foxes want a hat"):
        for changes in (
            {},
            {"heads": {"decoder.1.cross.2": "off", "encoder.0.self.0": "uniform"}},
            {"heads": {f"decoder.1.cross.{head}": "off" for head in range(4)}},
            {"blocked": [("decoder.cross", 1, 1), ("encoder.self", 2, 0)]},
        ):
            source, ids = torch.tensor([english.encode(words)]), [BOS_ID]
            with changed(model, **changes), record_attention(model) as maps, torch.no_grad():
                while ids[-1] != EOS_ID and len(ids) < 13:
                    logits = model(source, torch.tensor([ids]))[0]
                    ids.append(int(logits[-1].argmax()))
            found = {"maps": {name: weights[0].tolist() for name, weights in maps.items()}}
            found |= {"written": [french.word(index) for index in ids[1:]]}
            found |= {"best": logits.softmax(dim=-1).topk(5).values.tolist()}
            answers.append({"words": words.split(), "changes": changes} | found)
    return {"file": base64.b64encode(shipped_file("grammar")).decode(), "answers": answers}


def random_weights(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)


MAPS = {
    "encoder.0.self": random_weights(2, 2, 2),
    "decoder.0.self": random_weights(2, 3, 3),
    "decoder.0.cross": random_weights(2, 3, 2),
    "decoder.1.cross": random_weights(2, 3, 2),
}
OWN = {"maps": MAPS, "source_tokens": SOURCE, "target_tokens": TARGET}
CROSS = {"decoder.0.cross": random_weights(1, 3, 2)}
EXAMPLE = OWN | {"attention": "decoder self", "layer": 0, "head": 1, "token": 2}
BAD = [
    (TypeError, "maps must be a dict of attention weights", OWN | {"maps": [1]}),
    (ValueError, "maps must have keys like", OWN | {"maps": {"encoder.self": [[[1.0]]]}}),
    (
        ValueError,
        "must have shape (heads, 3, 2), from the tokens, got (1, 2, 2)",
        OWN | {"maps": {"decoder.0.cross": random_weights(1, 2, 2)}},
    ),
    (TypeError, "of a batch take weights[0]", OWN | {"maps": {"decoder.0.cross": random_weights(1, 1, 3, 2)}}),
    (ValueError, "must hold weights after softmax", OWN | {"maps": {"decoder.0.cross": torch.ones(1, 3, 2)}}),
    (ValueError, "rows ≥ 0", OWN | {"maps": {"decoder.0.cross": torch.tensor([[[1.5, -0.5]] * 3])}}),
    (ValueError, "attention must be one that maps holds", OWN | {"maps": CROSS, "attention": "encoder self"}),
    (ValueError, "without the begin token", OWN | {"target_tokens": ["<bos>", "le", "chat"]}),
    (ValueError, "candidates must have one list for each of the 3", OWN | {"candidates": [[["le", 0.9]]]}),
    (ValueError, "maps must be given with source_tokens", {"source_tokens": SOURCE}),
    (ValueError, "sentence must be left out where maps are given, got 'the cat'", OWN | {"sentence": "the cat"}),
    (ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"}),
]
SAYS = [
    ({}, f"on “{RUNNING_SENTENCE}”: cross attention, layer 2, the mean of its heads", "writes noir it looks at black "),
    (EXAMPLE, "decoder self attention, layer 1, head 2", "While it writes the end it looks at", "start"),
]


def test_it_opens_with_what_the_pages_weights_compute():
    figure = AttentionMap(sentence="These foxes want a hat.")
    model, (english, french) = read_page_file(shipped_file("grammar"))
    source = torch.tensor([english.encode(figure.sentence)])
    ids = greedy_search(model, source, BOS_ID, EOS_ID)
    with record_attention(model) as maps, torch.no_grad():
        logits = model(source, ids[:, :-1])[0]
    assert figure.target_tokens == [french.word(index) for index in ids[0, 1:].tolist()]
    assert figure.maps.keys() == maps.keys()
    for name, weights in maps.items():
        torch.testing.assert_close(torch.tensor(figure.maps[name]), weights[0], atol=6e-5, rtol=0)
    assert [row[0][1] for row in figure.candidates] == pytest.approx(logits.softmax(-1).amax(-1).tolist(), abs=6e-5)


def test_recorded_attention_brings_no_model():
    figure = AttentionMap(**OWN)
    assert (figure.model_file, figure.line, figure.sentence) == ({}, {}, "")
    assert "data-model" not in figure.html()
    assert "data-model" in AttentionMap().html()


def test_tensors_become_numbers_and_the_last_layer_with_that_attention_is_shown():
    figure = AttentionMap(**EXAMPLE)
    torch.testing.assert_close(torch.tensor(figure.maps["decoder.0.cross"]), MAPS["decoder.0.cross"], atol=6e-5, rtol=0)
    assert AttentionMap(**OWN).layer == 1
    assert AttentionMap(**OWN, attention="encoder self").layer == 0


def test_a_row_of_zeros_is_a_query_that_may_look_at_nothing():
    weights = random_weights(1, 3, 2)
    weights[0, 1] = 0
    assert AttentionMap({"decoder.0.cross": weights}, SOURCE, TARGET).maps["decoder.0.cross"][0][1] == [0, 0]


def test_first_crossing_is_where_a_word_looks_left_of_the_word_before():
    assert first_crossing([[[0.9, 0.1, 0.0], [0.0, 0.1, 0.9], [0.2, 0.7, 0.1]]], None) == 2
    assert first_crossing([[[1.0, 0.0], [0.0, 1.0]]], 0) == 0
    assert mean_row([[[1.0, 0.0]], [[0.5, 0.5]]], None, 0) == [0.75, 0.25]

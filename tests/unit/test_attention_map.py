"""The attention map as a Python object: real recordings, tensors, and what it takes for attention weights."""

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE
from transformer_edu.widgets import AttentionMap
from transformer_edu.widgets.attention_weights import first_crossing, mean_row

SOURCE, TARGET = ["the", "cat"], ["le", "chat", "<eos>"]


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
]
SAYS = [
    ({}, f"on “{RUNNING_SENTENCE}”: cross attention, layer 2, the mean of its heads", "writes noir it looks at black "),
    (EXAMPLE, "decoder self attention, layer 1, head 2", "While it writes the end it looks at", "start"),
]


def test_the_default_is_a_recording_and_others_have_their_name():
    assert AttentionMap(head=2, token=0).state() == AttentionMap.of_recording(head=2, token=0).state()
    with pytest.raises(ValueError, match="name must be a recording with 'attention', got 'grammar-seeds'"):
        AttentionMap.of_recording("grammar-seeds")


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

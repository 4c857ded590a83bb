"""The context explorer as a Python object: which word it compares, and its words."""

from typing import Any

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer, pretrained
from transformer_edu.pretrained import Pretrained
from transformer_edu.widgets import ContextExplorer
from transformer_edu.widgets.context_explorer_data import record_vectors, shared_pairs, vector_at

SHIPPED = pretrained.load_grammar()
VECTORS: dict[str, Any] = {  # two sentences of two words, d_model 2, one layer
    "levels": ["embedding", "+ position", "layer 1"],
    "unit": 0.5,
    "sentences": [["the", "cat"], ["a", "cat"]],
    "translations": ["le chat", "un chat"],
    "embeddings": {"the": [2, 0], "cat": [0, 2], "a": [2, 2]},
    "positions": [[0, 1], [1, 0]],
    "layers": [[[[1, 2], [2, 0]]], [[[2, 2], [0, 4]]]],
}
EXAMPLE = {"first": 3, "second": 4, "word": "black"}
BAD = [
    (ValueError, "word must be in both sentences, got 'the': 'the cat', 'a cat'", {"vectors": VECTORS, "word": "the"}),
    (
        ValueError,
        "pair must be one of [[1, 1]], where both sentences have one word, got [0, 0]",
        {"vectors": VECTORS, "pair": [0, 0]},
    ),
]
SAYS = [
    ({}, f"“the”, word 1 of “{RUNNING_SENTENCE}” and word 1 of “the small black cow does not sleep”"),
    ({}, "embedding 1.000 and 0.00, + position 1.000 and 0.00, layer 1 0.9"),
    ({"vectors": VECTORS}, "“cat”, word 2 of “the cat” and word 2 of “a cat”"),
    ({"vectors": VECTORS}, "embedding 1.000 and 0.00, + position 1.000 and 0.00, layer 1 0.000 and 2.24"),
]


def test_a_word_can_be_named_or_placed():
    assert ContextExplorer(second=5, word="small").pair == [1, 4]
    assert ContextExplorer(second=5, pair=[0, 3]).pair == [0, 3]
    assert ContextExplorer(first=5, second=5).pair == [0, 3]
    assert shared_pairs(["the", "cat"], ["the", "dog", "the"]) == [[0, 0], [0, 2]]


def test_a_stack_with_a_final_norm_has_a_level_for_it():
    sizes = (len(SHIPPED.source_vocabulary), len(SHIPPED.target_vocabulary))
    model = build_transformer(*sizes, d_model=8, num_heads=2, d_ff=16, num_layers=1, norm="pre", max_len=8).eval()
    translator = Pretrained(model, SHIPPED.source_vocabulary, SHIPPED.target_vocabulary, {})
    data = record_vectors(translator, ["the cat sleeps", "the hen sleeps"])
    assert data["levels"] == ["embedding", "+ position", "layer 1", "final norm"]
    memory = model.encode(torch.tensor([SHIPPED.source_vocabulary.encode("the hen sleeps")]))[0, 1]
    torch.testing.assert_close(torch.tensor(vector_at(data, 1, 3, 1)), memory.detach(), atol=6e-5, rtol=0)
    with pytest.raises(ValueError, match=r"sentences must be at least two sentences, got \['the cat sleeps'\]"):
        ContextExplorer.of_translator(translator, ["the cat sleeps"])

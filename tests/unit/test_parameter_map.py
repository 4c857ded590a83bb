"""The parameter map's Python side counts as the model does."""

from transformer_edu import pretrained
from transformer_edu.book.figures import ParameterMap
from transformer_edu.book.figures.parameter_map import FIELDS, PRESETS, group_sizes

EXAMPLE = {
    "source_vocab_size": 100, "target_vocab_size": 90, "d_model": 64, "num_heads": 8, "d_ff": 128, "num_layers": 3,
    "tie_embeddings": "target", "keep_ratio": False, "selected": "decoder.2.w_1",
}  # fmt: skip
BAD = [
    (ValueError, "d_model must be divisible by num_heads, got d_model=512 and num_heads=7", {"num_heads": 7}),
    (ValueError, "d_model must be even", {"d_model": 15, "num_heads": 5}),
    (ValueError, "tie_embeddings='all' needs one vocabulary", {"source_vocab_size": 100}),
    (ValueError, "num_layers must be at most 24 to be drawn, got 25", {"num_layers": 25}),
    (ValueError, "a keyword argument must be one of", {"dropout": 0.1}),
]
SAYS = [
    ({}, "63,082,496 parameters in all", "decoder 25,224,192 (40.0%)", "networks hold 39.9% of them, attention 30.0%")
]


def test_presets_are_the_papers_models_and_the_books():
    assert sum(group_sizes(ParameterMap("base").config()).values()) == 63_082_496
    assert sum(group_sizes(ParameterMap("big").config()).values()) == 214_245_376
    shipped = pretrained.load_grammar().model.config
    assert tuple(getattr(shipped, name) for name in FIELDS) == PRESETS["book"]

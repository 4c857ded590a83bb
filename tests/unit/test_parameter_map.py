"""The parameter map's Python side counts as the model does."""

from collections import Counter

import pytest
import torch

from transformer_edu import Transformer, TransformerConfig, pretrained
from transformer_edu.book.figures.parameter_map import FIELDS, PRESETS, group_sizes, part_names

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
SCENES = {
    "what is no model is explained": [
        "> click [data-field=num_heads]; key Control+A; key 7; key Enter",
        "cannot be cut into 7 heads of one length: 512 ÷ 7 = 73.14.",
        "> radio book; combobox tied tables = all",
        "92 and 127 words differ",
    ],
    "a matrix that is clicked or reached by arrow keys is described": [
        "> click [data-part='encoder.2.w_2']",
        "2,048 × 512 and a bias of 512 = 1,049,088",
        "> click [data-part='decoder.5.cross.w_k']",
        "key projection … decoder layer 6, cross-attention",
        "> key ArrowRight; key ArrowDown; key ArrowUp",
        "value projection, decoder layer 6",
        "> key ArrowLeft; key ArrowLeft",
        "query projection, decoder layer 6",
        "> key End",
        "second feed-forward matrix, decoder layer 6",
    ],
    "more heads move nothing, longer vectors much": [
        "> button double: heads",
        "not one number more or less. Heads are cuts: each now works in 32 dimensions instead of 64.",
        "> button double: d model",
        "37,888,000× 2.00 … 75,577,344× 4.00 … 100,780,032× 4.00",
        "tables × 2.00, encoder × 4.00, decoder × 4.00. In all × 3.40. Pale, dashed: as it was.",
    ],
    "models that are known, and every number": [
        "63,082,496 numbers",
        "> radio big",
        "214,245,376 numbers",
        "> radio book",
        "Here attention holds the largest share … 189,568 numbers … Another model",
        "> radio opus",
        "Here the word tables hold the largest share … 74,609,664 numbers",
        "> radio base; click [data-field=d_model]; key ArrowUp; checkbox follows = off",
        "dff now stays, whatever dmodel is.",
        "> button halve: d model; button one more: layers; button halve: source words; combobox tied tables = none",
        "109,299,712 numbers … tied tables all three → none: word tables × 3.00 and nothing else",
    ],
}
PARTS = {f"{name}_projection": f"w_{name[0]}" for name in ("query", "key", "value", "output")}
PARTS |= {"expand": "w_1", "contract": "w_2"}


def model_counts(config):
    """Parameters of each matrix with its bias, by the map's names, and of all norms."""
    with torch.device("meta"):  # shapes without memory
        model = Transformer(config)
    counts = Counter()
    for path, parameter in model.named_parameters():
        stack, *place = path.split(".")
        if stack in ("encoder", "decoder"):
            cross = "cross." if "cross_attention" in place else ""
            matrix = next((f"{stack}.{place[1]}.{cross}{PARTS[part]}" for part in place if part in PARTS), "norms")
        else:
            matrix = "table." + ("shared" if config.tie_embeddings == "all" else stack.removesuffix("_embedding"))
        counts[matrix] += parameter.numel()
    return counts


def numbers():
    """What models of many sizes hold, as torch counts it."""
    base, *others = (dict(zip(FIELDS, PRESETS[name], strict=True)) for name in ("base", "big", "book", "opus"))
    others += [
        base | {"tie_embeddings": "none", "target_vocab_size": 20_000},
        base | {"tie_embeddings": "target", "source_vocab_size": 50, "num_heads": 16},
        base | {"d_model": 96, "num_heads": 12, "d_ff": 700, "num_layers": 9},
    ]
    return [{"config": fields, "counts": model_counts(TransformerConfig(**fields))} for fields in (base, *others)]


@pytest.mark.long
def test_each_group_holds_what_the_model_has():
    for found in numbers():
        counts, config = found["counts"], TransformerConfig(**found["config"])
        assert counts.keys() == {*part_names(config), "norms"}
        tables = sum(count for name, count in counts.items() if name.startswith("table"))
        assert group_sizes(config)["embeddings and projection"] == tables
        assert sum(group_sizes(config).values()) == counts.total()


def test_the_books_preset_is_the_model_that_is_shipped():
    shipped = pretrained.load_grammar().model.config
    assert tuple(getattr(shipped, name) for name in FIELDS) == PRESETS["book"]

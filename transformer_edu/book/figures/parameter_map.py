"""Every matrix of a Transformer, drawn to scale and counted exactly."""

from types import SimpleNamespace
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.config import TransformerConfig
from transformer_edu.support.validation import check_boolean, check_choice

PAPER_SUBWORDS = 37_000  # "about 37000 tokens", shared by both languages (section 5.1)
# name -> source words, target words, d_model, heads, d_ff, layers, tying
PRESETS = {
    "book": (92, 127, 64, 4, 128, 2, "none"),  # the grammar model that ships with the package
    "base": (PAPER_SUBWORDS, PAPER_SUBWORDS, 512, 8, 2048, 6, "all"),  # table 3
    "opus": (59_514, 59_514, 512, 8, 2048, 6, "all"),  # opus-mt-en-fr (Tiedemann and Thottingal 2020)
    "big": (PAPER_SUBWORDS, PAPER_SUBWORDS, 1024, 16, 4096, 6, "all"),
}
FIELDS = (
    "source_vocab_size",
    "target_vocab_size",
    "d_model",
    "num_heads",
    "d_ff",
    "num_layers",
    "tie_embeddings",
)
LIMITS = {
    "source_vocab_size": 1_000_000,
    "target_vocab_size": 1_000_000,
    "d_model": 8192,
    "num_heads": 256,
    "d_ff": 32_768,
    "num_layers": 24,
}


class ParameterMap(Figure):
    """All matrices of an encoder-decoder Transformer as rectangles on one scale; their numbers, and the total.

    `preset` is "base" or "big" (the paper's models, table 3), "opus" (opus-mt-en-fr, a translator to download, without
    its bias of the words' scores) or "book" (the small English-French model of this book); any field of
    `TransformerConfig` named in FIELDS replaces the preset's value. `selected` is the matrix described first:
    "encoder.0.w_1", "decoder.5.cross.w_v", "table.source", ... `keep_ratio` lets d_ff grow and shrink with d_model when
    the reader changes that. Norms stand behind the sum ("post"), as in the paper.
    """

    figure_name: ClassVar[str] = "parameter-map"

    source_vocab_size = traitlets.Int().tag(sync=True)
    target_vocab_size = traitlets.Int().tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    num_heads = traitlets.Int().tag(sync=True)
    d_ff = traitlets.Int().tag(sync=True)
    num_layers = traitlets.Int().tag(sync=True)
    tie_embeddings = traitlets.Unicode().tag(sync=True)
    keep_ratio = traitlets.Bool().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)
    presets = traitlets.Dict().tag(sync=True)
    limits = traitlets.Dict().tag(sync=True)

    def __init__(
        self, preset: str = "base", *, keep_ratio: bool = True, selected: str = "encoder.0.w_1", **config_fields: Any
    ) -> None:
        check_choice("preset", preset, tuple(PRESETS))
        check_boolean("keep_ratio", keep_ratio)
        for name in config_fields:
            check_choice("a keyword argument", name, FIELDS)
        presets: dict[str, dict[str, Any]] = {
            name: dict(zip(FIELDS, values, strict=True)) for name, values in PRESETS.items()
        }
        fields = presets[preset] | config_fields
        config = TransformerConfig(**fields)
        for name, limit in LIMITS.items():
            if fields[name] > limit:
                raise ValueError(f"{name} must be at most {limit:,} to be drawn, got {fields[name]:,}")
        check_choice("selected", selected, tuple(part_names(config)))
        own = {"keep_ratio": keep_ratio, "selected": selected, "presets": presets, "limits": LIMITS}
        self._opened(SimpleNamespace(**fields, **own))

    def config(self) -> TransformerConfig:
        """The configuration that is shown."""
        return TransformerConfig(**{name: getattr(self, name) for name in FIELDS})

    def alt_text(self) -> str:
        """The total, the shares of the three groups, and of feed-forward networks and attention."""
        c = self.config()
        sizes = group_sizes(c)
        total = sum(sizes.values())
        shares = ", ".join(f"{name} {size:,} ({size / total:.1%})" for name, size in sizes.items())
        attention, feed_forward, _ = layer_sizes(c)
        return (
            f"Every matrix of a Transformer as a rectangle, its area its count of numbers: d_model {c.d_model}, "
            f"{c.num_heads} heads, d_ff {c.d_ff}, {c.num_layers} layers in each stack. {total:,} parameters in "
            f"all: {shares}. Feed-forward networks hold {2 * c.num_layers * feed_forward / total:.1%} of them, "
            f"attention {3 * c.num_layers * attention / total:.1%}."
        )


def layer_sizes(c: TransformerConfig) -> tuple[int, int, int]:
    """How many numbers one attention, one feed-forward network and one norm hold."""
    return 4 * (c.d_model**2 + c.d_model), 2 * c.d_model * c.d_ff + c.d_ff + c.d_model, 2 * c.d_model


def group_sizes(c: TransformerConfig) -> dict[str, int]:
    """How many numbers the tables, the encoder and the decoder hold; weights with their biases."""
    attention, feed_forward, norm = layer_sizes(c)
    words = {"all": 0, "target": c.source_vocab_size, "none": c.source_vocab_size + c.target_vocab_size}
    return {
        "embeddings and projection": (words[c.tie_embeddings] + c.target_vocab_size) * c.d_model,
        "encoder": c.num_layers * (attention + feed_forward + 2 * norm),
        "decoder": c.num_layers * (2 * attention + feed_forward + 3 * norm),
    }


def part_names(c: TransformerConfig) -> list[str]:
    """What can be selected: tables and matrices."""
    tables = {"all": ["shared"], "target": ["source", "target"], "none": ["source", "target", "projection"]}
    projections = ("w_q", "w_k", "w_v", "w_o")
    encoder = [*projections, "w_1", "w_2"]
    decoder = [*projections, *(f"cross.{name}" for name in projections), "w_1", "w_2"]
    layers = range(c.num_layers)
    return (
        [f"table.{name}" for name in tables[c.tie_embeddings]]
        + [f"encoder.{layer}.{name}" for layer in layers for name in encoder]
        + [f"decoder.{layer}.{name}" for layer in layers for name in decoder]
    )

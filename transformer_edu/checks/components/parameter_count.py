"""Checks a formula for the number of parameters."""

from collections.abc import Callable
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_number
from transformer_edu.transformer import TransformerConfig


def check_parameter_count(fn: Callable[[TransformerConfig], int]) -> None:
    """Check fn(config) -> how many numbers `Transformer(config)` learns."""
    need_callable("fn", fn)
    PARAMETERS.check(fn)


def count(
    config: TransformerConfig,
    *,
    matrices: int = 4,  # W_Q, W_K, W_V, W_O
    inner: int = 2,  # matrices of the feed-forward part
    biases: bool = True,
    norms: bool = True,
    cross: bool = True,
    final: bool | None = None,
    layers: int | None = None,
    tied: str | None = None,
) -> int:
    """Embeddings, projection and layers of `Transformer`; the keywords leave parts out, for the mistakes below."""
    c, d, bias = config, config.d_model, int(biases)
    attention = matrices * (d * d + bias * d)
    feed_forward = inner * d * c.d_ff + bias * (c.d_ff + d)
    norm = 2 * d * int(norms)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = encoder_layer + (attention + norm if cross else 0)
    source, target = c.source_vocab_size * d, c.target_vocab_size * d
    vocabulary = {"none": source + 2 * target, "target": source + target, "all": target}[tied or c.tie_embeddings]
    final_norms = 2 * norm * int(c.has_final_norm if final is None else final)
    return vocabulary + (c.num_layers if layers is None else layers) * (encoder_layer + decoder_layer) + final_norms


def _count(fn: Any, given: dict[str, Any]) -> int | float:
    number = as_number(fn(given["config"]))
    return int(number) if number.is_integer() else number


def _trial(title: str, source: int, target: int, **fields: Any) -> Trial:
    fields = {"d_model": 4, "num_heads": 2, "d_ff": 6, "num_layers": 1, **fields}
    return Trial(title, {"config": TransformerConfig(source, target, **fields)}, _count)


BASE: dict[str, Any] = {"d_model": 512, "num_heads": 8, "d_ff": 2048, "num_layers": 6}
PARAMETERS = Component(
    "parameter count",
    reference=count,
    trials=[
        _trial("one layer, d_model 4", 5, 7),
        _trial("three layers", 5, 7, num_layers=3),
        _trial("pre-norm, so with a final norm in each stack", 5, 7, norm="pre"),
        _trial("projection tied to the target embedding", 5, 7, tie_embeddings="target"),
        _trial("all three vocabulary matrices tied", 7, 7, tie_embeddings="all"),
        _trial("the paper's base model, 37,000 shared subwords", 37000, 37000, **BASE, tie_embeddings="all"),
    ],
)

"""Checks a formula for the number of parameters."""

from collections.abc import Callable
from functools import partial
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_number
from transformer_edu.config import TransformerConfig


def check_parameter_count(fn: Callable[[TransformerConfig], int]) -> None:
    """Check fn(config) -> how many numbers `Transformer(config)` learns."""
    COMPONENT.check(fn=fn)


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

COMPONENT = Component(
    "parameter count",
    chapter=11,
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
mistake = COMPONENT.mistake
PAPER = TransformerConfig(37000, 37000, **BASE, tie_embeddings="all")


def known(name: str, why: str, hint: str, wrong: Callable[[TransformerConfig], int]) -> None:
    """Enter a wrong formula; its symptom is what it says of the paper's base model."""
    right, said = count(PAPER), wrong(PAPER)
    symptom = f"{said:,} parameters for the paper's base model instead of {right:,}"
    if said == right:
        symptom = "the paper's base model comes out right, other configurations do not"
    mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


known(
    "no biases are counted",
    "4 d_model are missing for each attention, d_ff + d_model for each feed-forward part.",
    "Every linear map in attention and feed-forward has a vector of its own beside the matrix.",
    partial(count, biases=False),
)


known(
    "the norms are not counted",
    "2 d_model are missing for each norm.",
    "How many norms does an encoder layer have, how many a decoder layer, and what does each learn?",
    partial(count, norms=False),
)


known(
    "neither biases nor norms are counted",
    "all vectors are missing; the matrices are right.",
    "Which parts of a layer learn a vector rather than a matrix?",
    partial(count, biases=False, norms=False),
)


known(
    "cross-attention is forgotten: the decoder layer is counted like an encoder layer",
    "one attention and one norm are missing for each decoder layer.",
    "How many attentions does figure 1 of the paper show in a decoder layer?",
    partial(count, cross=False),
)


known(
    "the output projection W_O is forgotten",
    "d_model² + d_model are missing for each attention.",
    "What happens to the heads after they are put side by side?",
    partial(count, matrices=3),
)


known(
    "each head is counted with full-size matrices",
    "the matrices of attention are multiplied by the number of heads.",
    "Into how many dimensions does one head project? What do all heads together make?",
    lambda config: count(config, matrices=4 * config.num_heads),
)


known(
    "the feed-forward part is counted with one matrix",
    "d_model · d_ff are missing for each layer.",
    "It expands, and then?",
    partial(count, inner=1),
)


known(
    "only one layer is counted",
    "num_layers is never used: the count is right with one layer and far too low with more.",
    "Which field of the configuration does your formula never look at?",
    partial(count, layers=1),
)


known(
    "the final norms of a pre-norm model are forgotten",
    "4 d_model are missing with norm='pre'.",
    "Pre-norm leaves the last sum unnormalized. What does config.has_final_norm say, and for how many stacks?",
    partial(count, final=False),
)


known(
    "final norms are counted in a post-norm model, which has none",
    "there are 4 d_model too many with norm='post'.",
    "What does config.has_final_norm say?",
    partial(count, final=True),
)


known(
    "tied matrices are counted again",
    "there is a vocabulary matrix too many for every tie.",
    "Two names for one matrix are one set of numbers. What does config.tie_embeddings say?",
    partial(count, tied="none"),
)


known(
    "the projection to the vocabulary is counted with a bias",
    "there are target_vocab_size too many.",
    "In this model the projection is the embedding table turned round. Has a table a bias?",
    lambda config: count(config) + config.target_vocab_size,
)


known(
    "the sinusoidal table is counted",
    "there are max_len · d_model too many.",
    "Is the table learned?",
    lambda config: count(config) + config.max_len * config.d_model,
)

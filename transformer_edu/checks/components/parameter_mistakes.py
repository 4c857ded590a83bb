"""Known mistakes in counting parameters."""

from collections.abc import Callable
from functools import partial

from transformer_edu.checks.components.parameter_count import BASE, PARAMETERS, count
from transformer_edu.transformer import TransformerConfig

PAPER = TransformerConfig(37000, 37000, **BASE, tie_embeddings="all")


def known(name: str, why: str, hint: str, wrong: Callable[[TransformerConfig], int]) -> None:
    """Enter a wrong formula; its symptom is what it says of the paper's base model."""
    right, said = count(PAPER), wrong(PAPER)
    symptom = f"{said:,} parameters for the paper's base model instead of {right:,}"
    if said == right:
        symptom = "the paper's base model comes out right, other configurations do not"
    PARAMETERS.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


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

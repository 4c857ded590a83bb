"""Checks a whole encoder–decoder as the judge does, and what numbers do not show: how it starts, and what is tied."""

from collections.abc import Callable

import torch
from torch import nn

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.checks.part import check_part

CHAPTER = 11


def check_transformer(build: Callable[..., nn.Module]) -> None:
    """Check build(source_vocab_size, target_vocab_size, **config_fields) -> model: forward(source, target) -> logits.

    It takes the fields d_model, num_heads, d_ff, num_layers, dropout, pad_id and tie_embeddings.
    """
    check_part(build, "transformer", asked=ASKED, also=_made_otherwise)


def _matrices(build: Callable[..., nn.Module], **fields: object) -> list[nn.Parameter]:
    """The matrices of a model of two vocabularies of 13 words."""
    sizes = {"d_model": 16, "num_heads": 2, "d_ff": 32, "num_layers": 2, "dropout": 0.0, "pad_id": 0, "max_len": 32}
    return [p for p in build(13, 13, **{**sizes, **fields}).parameters() if p.dim() == 2]


def _made_otherwise(build: Callable[..., nn.Module]) -> tuple[str, Mistake] | None:
    """What is wrong with a model as it is made, whatever it computes."""
    matrices = _matrices(build)
    if any(a.shape == b.shape and torch.equal(a, b) for i, a in enumerate(matrices) for b in matrices[:i]):
        return "two layers, just made", TWINS
    count = {tie: sum(13 in p.shape for p in _matrices(build, tie_embeddings=tie)) for tie in ("none", "target", "all")}
    where = "tie_embeddings 'none', 'target', 'all' make {none}, {target}, {all} vocabulary matrices".format(**count)
    if count["target"] == count["all"] == 2:
        return where, HALF_TIED
    return (where, UNTIED) if count["target"] > 2 or count["all"] > 1 else None


TWINS = Mistake(
    "the layers start with identical weights",
    symptom="slower learning at first; the count is right and no error shows",
    why="the layers are deep copies of one layer and were not initialized again.",
    hint="What does copy.deepcopy do with the random weights that the first layer has already drawn?",
)
UNTIED = Mistake(
    "tie_embeddings has no effect (or the weights are copied once, not shared)",
    symptom="the parameter count is too high by whole vocabulary matrices; tied matrices drift apart in training",
    why="tying means one Parameter object in two places; copying its numbers makes two that start out equal.",
    hint="After tying, `a.weight is b.weight` should be True. Is it?",
)
HALF_TIED = Mistake(
    "tie_embeddings='all' ties two of the three matrices only",
    symptom="the parameter count is too high by one vocabulary matrix",
    why="the paper shares one matrix between source embedding, target embedding and projection.",
    hint="Which of the three still has a matrix of its own?",
)
ASKED: dict[str, Mistake | None] = {  # what the judge remarks, by its words: a mistake here; None: it is asked for
    "embeddings are not multiplied": Mistake(
        "the embeddings are not multiplied by √d_model",
        symptom="with small initial embeddings (Xavier, or tied) the positions drown the words at first",
        why="section 3.4 of the paper multiplies them; the factor is missing on both sides.",
        hint="With d_model = 16, how much longer should a word's vector be than its row of the table?",
    ),
    "logarithms of probabilities": Mistake(
        "log-softmax is already applied to what the model returns",
        symptom="none in the loss (log-softmax twice changes nothing), but the numbers are no logits",
        why="the projection should return logits; temperature, label smoothing and tying are defined on these.",
        hint="Which function takes log-probabilities, and which takes logits: nll_loss or cross_entropy?",
    ),
    "hidden by the causal mask alone": Mistake(
        "the decoder's self-attention does not hide padding: the causal mask has overwritten the padding mask",
        symptom="results that change with the padding whenever it stands before or between real tokens",
        why="two conditions must hold at once: not in the future, and not padding.",
        hint="How do you join two boolean masks so that both must agree?",
    ),
    "it takes no dropout": None,
}

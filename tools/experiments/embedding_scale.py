"""Does √d_model matter? Three kinds of embedding tables, with the factor and without (chapter 3).

Each is the start of a grammar model that is trained for the first 300 of the recipe's 1000 steps, then
asked for 200 held-out sentences.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import torch
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, train_pairs, vocabularies
from transformer_edu.data.vocabulary import IdPair
from transformer_edu.embedding import InputEmbedding
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_boolean, check_choice, check_positive_integer
from transformer_edu.training.evaluate import exact_match
from transformer_edu.training.grammar_model import BATCH_SIZE, SMOOTHING, grammar_config, grammar_learning_rate
from transformer_edu.training.loop import evaluate_loss, train
from transformer_edu.transformer import Transformer

STEPS = 300
SENTENCES = 200  # held out
SEEDS = (0, 1, 2)
STARTS = ("N(0, 1)", "Xavier", "N(0, 1/d)")  # nn.Embedding's own; the grammar model's; build_transformer's
TYINGS = ("none", "target")


class PlainEmbedding(InputEmbedding):
    """An `InputEmbedding` without its factor: it looks up, and that is all."""

    def forward(self, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        """Ids (batch, seq) -> rows of the table (batch, seq, d_model)."""
        return self.lookup(ids)


def without_factor(embedding: InputEmbedding) -> PlainEmbedding:
    """An embedding that shares the table of the given one, the parameter itself, and has no factor √d_model."""
    plain = PlainEmbedding(embedding.vocab_size, embedding.d_model)
    plain.lookup = embedding.lookup
    return plain


def new_model(start: str, factor: bool, tying: str = "none", seed: int = 0) -> Transformer:
    """An untrained grammar model; its weights depend on `start`, `tying` and `seed` alone.

    Args:
        start: what both embedding tables are drawn from: "N(0, 1)", "Xavier" or "N(0, 1/d)". All else is Xavier.
        factor: multiply what is looked up by √d_model = 8, as the paper does.
        tying: "none", or "target": the projection is the target's table (see `TransformerConfig`).
        seed: of the weights.
    """
    check_choice("start", start, STARTS)
    check_boolean("factor", factor)
    check_choice("tying", tying, TYINGS)
    check_positive_integer("seed", seed, minimum=0)
    with seeded(seed):
        model = Transformer(replace(grammar_config(), tie_embeddings=tying))
        xavier_initialize(model)
        for embedding in (model.source_embedding, model.target_embedding) if start != "Xavier" else ():
            nn.init.normal_(embedding.lookup.weight, std=1.0 if start == "N(0, 1)" else embedding.d_model**-0.5)
        if not factor:
            model.source_embedding = without_factor(model.source_embedding)
            model.target_embedding = without_factor(model.target_embedding)
    return model


@torch.no_grad()
def balance(model: Transformer) -> float:
    """The typical size of a word's entries, factor included, over that of a position's, √½ (root mean squares)."""
    embeddings = (model.source_embedding, model.target_embedding)
    words = torch.cat([table(torch.arange(table.vocab_size)[None])[0] for table in embeddings])  # (words, d_model)
    return words.square().mean().sqrt().item() / math.sqrt(0.5)


def held_out(sentences: int = SENTENCES) -> list[IdPair]:
    """The sentence pairs that every model is asked for; none of them is trained on."""
    return encode_pairs(held_out_pairs(sentences), *vocabularies())


@dataclass(frozen=True)
class Outcome:
    """What one start came to.

    `balance` (see `balance`) and `first_loss` are measured before the first step, `loss` and `accuracy` after the
    last. Losses are in nats per token of the held-out sentences; accuracy is the share of those sentences that are
    right to the last word, 0 .. 1.
    """

    balance: float
    first_loss: float
    loss: float
    accuracy: float


def train_from(
    start: str, factor: bool, tying: str = "none", *, seed: int = 0, steps: int = STEPS, sentences: int = SENTENCES
) -> Outcome:
    """Train one grammar model; arguments as in `new_model`. `seed` decides order and dropout, too.

    Raises:
        FloatingPointError: the loss is no longer a finite number.
    """
    model, pairs = new_model(start, factor, tying, seed), held_out(sentences)
    before = balance(model), evaluate_loss(model, iterate_batches(pairs, sentences))
    batches = iterate_batches(encode_pairs(train_pairs(), *vocabularies()), BATCH_SIZE, seed=seed, epochs=None)
    train(model, batches, steps=steps, learning_rate=grammar_learning_rate, smoothing=SMOOTHING, seed=seed,
          progress=False)  # fmt: skip
    return Outcome(*before, evaluate_loss(model, iterate_batches(pairs, sentences)), exact_match(model, pairs))


@experiment("embedding-scale")
def record_embedding_scale(
    starts: Sequence[str] = STARTS, seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = SENTENCES
) -> dict[str, Any]:
    """Every start, with the factor and without, tied and not, from all seeds. About seven minutes of one thread."""
    runs = []
    for tying, start, factor, seed in product(TYINGS, starts, (True, False), seeds):
        outcome = asdict(train_from(start, factor, tying, seed=seed, steps=steps, sentences=sentences))
        setting = {"start": start, "factor": factor, "tying": tying, "seed": seed}
        runs.append({**setting, **{name: round(value, 4) for name, value in outcome.items()}})
    return {"steps": steps, "sentences": sentences, "d_model": grammar_config().d_model, "runs": runs}

"""Training, moment by moment: the recipe of chapter 13 and two runs at other learning rates, as the figure shows it."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from transformer_edu.book.experiments import experiment
from transformer_edu.data import (
    BOS_ID,
    EOS_ID,
    align,
    encode_pairs,
    held_out_pairs,
    iterate_batches,
    train_pairs,
    vocabularies,
)
from transformer_edu.data.examples import RUNNING_SENTENCE, RUNNING_TRANSLATION
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.record import record_attention
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.training.evaluate import exact_match
from transformer_edu.training.grammar_model import (
    BATCH_SIZE,
    SMOOTHING,
    WARMUP_STEPS,
    grammar_config,
    grammar_learning_rate,
    loss_curve,
    new_grammar_model,
)
from transformer_edu.training.loop import Step, evaluate_loss, train
from transformer_edu.transformer import Transformer

SEED = 0
MOMENTS = (0, 10, 25, 50, 75, 100, 120, 140, 150, 160, 170, 180, 190, 200, 225, 250, 300, 400, 500, 600, 800, 1000)
EVERY = 25  # steps: the training loss is the mean of so many
SENTENCES = 300  # held out
LONGEST = 12  # tokens of an answer, the begin token counted: three more than the right one has
SCALE = 255  # a weight of 1 is stored as this byte
CROSS = tuple(f"decoder.{layer}.cross" for layer in range(grammar_config().num_layers))


@dataclass(frozen=True)
class Plan:
    """One run: what a reader calls it, and its learning rate at a step, counted from 1."""

    name: str
    learning_rate: Callable[[int], float]


PLANS = (
    Plan("the recipe", grammar_learning_rate),
    Plan("twice the rate, no warm-up", lambda step: 2 * grammar_learning_rate(max(step, WARMUP_STEPS))),
    Plan("a tenth of the rate", lambda step: grammar_learning_rate(step) / 10),
)


@experiment("training-replay")
def record_replay(plans: Sequence[Plan] = PLANS, moments: Sequence[int] = MOMENTS) -> dict[str, Any]:
    """Every run with the same weights, batches and dropout, as plain JSON values. About four minutes of one thread.

    Args:
        plans: the runs.
        moments: after which steps to look, from 0, rising; the last one is the number of steps.

    Returns:
        The facts that the runs share, and under "runs" one dict a plan (see `record_run`).
    """
    _, french = vocabularies()
    return {
        "seed": SEED,
        "source_tokens": RUNNING_SENTENCE.split(),
        "target_tokens": [*RUNNING_TRANSLATION.split(), "<eos>"],
        "alignment": [list(pair) for pair in align(RUNNING_SENTENCE)],  # places in the source, in the target
        "vocabulary": len(french),
        "smoothing": SMOOTHING,
        "held_out_sentences": SENTENCES,
        "every": EVERY,
        "moments": list(moments),
        "maps": list(CROSS),
        "heads": grammar_config().num_heads,
        "runs": [record_run(plan, moments) for plan in plans],
    }


def record_run(plan: Plan, moments: Sequence[int] = MOMENTS) -> dict[str, Any]:
    """Train one grammar model and look at it at each moment.

    Returns:
        "name". "losses": the mean training loss of each `EVERY` steps, in nats per token, smoothed. "rates": the
        learning rate at step 1 and at the end of each `EVERY` steps. "moments": see `look`.
    """
    model = new_grammar_model(SEED)
    found = [look(model, None)]

    def on_step(step: Step, model: Transformer) -> None:
        if step.step in moments:
            found.append(look(model, step.learning_rate))

    batches = iterate_batches(encode_pairs(train_pairs(), *vocabularies()), BATCH_SIZE, seed=SEED, epochs=None)
    history = train(model, batches, steps=moments[-1], learning_rate=plan.learning_rate, smoothing=SMOOTHING,
                    seed=SEED, progress=False, on_step=on_step)  # fmt: skip
    curve = loss_curve(history, EVERY)
    return {
        "name": plan.name,
        "losses": [point["loss"] for point in curve],
        "rates": [_short(plan.learning_rate(1)), *(point["learning_rate"] for point in curve)],
        "moments": found,
    }


def look(model: Transformer, rate: float | None) -> dict[str, Any]:
    """Where a model stands after a step of this learning rate (None: before the first); its mode is left as it was.

    Returns:
        "rate". "loss" of held-out sentences in nats per token, smoothed as the training loss is. "exact": the share
        of them that it writes without a mistake, 0 .. 1. "written": its own words for the running sentence, with
        "<eos>" if it ended. "p": the probability of each right next word when it has read the right words so far.
        "weights": cross-attention of the same pass, see `packed`.
    """
    english, french = vocabularies()
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])  # (1, src_len)
    target = torch.tensor([french.encode(RUNNING_TRANSLATION, add_bos=True, add_eos=True)])  # (1, tgt_len + 1)
    pairs = encode_pairs(held_out_pairs(SENTENCES), english, french)
    with torch.no_grad(), evaluation_mode(model), record_attention(model) as maps:
        logits = model(source, target[:, :-1])[0]  # (tgt_len, vocab)
        weights = torch.stack([maps[name][0] for name in CROSS])  # (layers, heads, tgt_len, src_len)
    right = logits.softmax(dim=-1).gather(-1, target[0, 1:, None])[:, 0]  # (tgt_len)
    answer = greedy_search(model, source, BOS_ID, EOS_ID, LONGEST)[0, 1:].tolist()
    return {
        "rate": None if rate is None else _short(rate),
        "loss": round(evaluate_loss(model, iterate_batches(pairs, SENTENCES), smoothing=SMOOTHING), 4),
        "exact": round(exact_match(model, pairs), 4),
        "written": [french.word(word) for word in answer],
        "p": [round(p, 4) for p in right.tolist()],
        "weights": packed(weights),
    }


def packed(weights: Float[Tensor, "layers heads q_len k_len"]) -> str:
    """Weights 0 .. 1 as one byte each, to 1/255, in base64: a fifth of their size as numbers with 4 decimals."""
    return base64.b64encode(bytes(weights.mul(SCALE).round().flatten().int().tolist())).decode()


def _short(rate: float) -> float:
    return float(f"{rate:.4g}")

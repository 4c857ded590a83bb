"""Checks how a target is cut into what the decoder reads and what it must say."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor

PAD, BOS, EOS = 0, 1, 2
Pair = tuple[Tensor, Tensor]


def check_shift(fn: Callable[[Tensor], Pair]) -> None:
    """Check fn(target) -> (target_in, target_out), target (batch, seq) with pad 0, begin 1 and end 2.

    What target_in holds where target_out is padding does not matter: the loss does not look there.
    """
    COMPONENT.check(fn=fn)


def shift(target: Tensor) -> Pair:
    """Read everything but the last token, say everything but the first."""
    return target[:, :-1], target[:, 1:]


def _cut(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = fn(given["target"])
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise Unfit(f"returned {'None' if result is None else type(result).__name__}, expected (target_in, target_out)")
    target_in, target_out = (as_tensor(part) for part in result)
    counts = given["target"][:, 1:] != PAD
    if target_in.shape == counts.shape:
        target_in = target_in.masked_fill(~counts, PAD)
    return {"target_in": target_in, "target_out": target_out}


def _trial(title: str, ids: list[list[int]]) -> Trial:
    return Trial(f"{title} (1 begins, 2 ends, 0 pads)", {"target": torch.tensor(ids)}, _cut)


COMPONENT = Component(
    "shifted target",
    chapter=13,
    reference=shift,
    trials=[
        _trial("one sentence of two words", [[BOS, 5, 6, EOS]]),
        _trial("two sentences, the second one padded", [[BOS, 5, 6, EOS], [BOS, 7, EOS, PAD]]),
        _trial("four sentences of one word", [[BOS, 5, EOS], [BOS, 6, EOS], [BOS, 7, EOS], [BOS, 8, EOS]]),
    ],
)
mistake = COMPONENT.mistake

mistake(
    "the target is not shifted: the decoder is asked for the token that it has just read",
    symptom="98 % accuracy within minutes, and translations that repeat one token: copying the input is enough",
    why="both tensors hold the same tokens at the same places.",
    hint="At the place where the decoder has read <bos>, what must it say?",
)(lambda target: (target[:, :-1], target[:, :-1]))
mistake(
    "nothing is cut off: target_in and target_out are the whole target",
    symptom="98 % accuracy within minutes, and translations that repeat one token: copying the input is enough",
    why="the target is used for both as it is.",
    hint="At the place where the decoder has read <bos>, what must it say?",
)(lambda target: (target, target))
mistake(
    "the whole target is read, though only target_out is cut",
    symptom="a shape error in the loss: one more prediction than answers",
    why="after <eos> there is nothing left to say, so it need not be read.",
    hint="How many predictions are there, and how many answers?",
)(lambda target: (target, target[:, 1:]))
mistake(
    "<bos> is kept in target_out",
    symptom="a shape error in the loss, or, after cutting elsewhere, a model that learns to say <bos>",
    why="the decoder is given <bos>; it never has to say it.",
    hint="Which token should be the first that the decoder says?",
)(lambda target: (target[:, :-1], target))
mistake(
    "the target is shifted twice",
    symptom="translations that skip every other word; the loss stays high",
    why="two places shift by one: for example the data loader and the training loop.",
    hint="After <bos>, which word of the sentence does your target_out ask for?",
)(lambda target: (target[:, :-2], target[:, 2:]))
mistake(
    "<eos> is dropped: the decoder never has to say it",
    symptom="translations that never end and run into max_len",
    why="target_out is cut on both sides, or the target came without its end.",
    hint="What must the decoder say after the last word?",
)(lambda target: (target[:, :-2], target[:, 1:-1]))
mistake(
    "target_in and target_out have changed places",
    symptom="the decoder reads the answer and must say what came before: a loss near zero, nonsense when decoding",
    why="what is read begins with <bos>, what is said ends with <eos>.",
    hint="Which of your two tensors holds <bos>?",
)(lambda target: (target[:, 1:], target[:, :-1]))
mistake(
    "the slice cuts sentences, not tokens",
    symptom="each sentence must be 'translated' into the next one of the batch",
    why="the first dimension is the batch; tokens are in the second.",
    hint="target is (batch, seq). On which dimension does your slice work?",
)(lambda target: (target[:-1], target[1:]))
mistake(
    "the target is rolled: <bos> comes back at the end",
    symptom="a model that says <bos> after the sentence",
    why="torch.roll moves what falls off one end to the other.",
    hint="What should happen to the token that has no place any more?",
)(lambda target: (target, target.roll(-1, dims=1)))

"""Checks a text that a model goes on with, key-value cache and all, with a model whose every next token is a sum."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor
from transformer_edu.support.cache import DecoderCache

VOCAB = 11


def check_continue_text(fn: Callable[[Any, Tensor, int], Tensor]) -> None:
    """Check fn(model, ids, steps) -> ids (batch, n + steps): prompts (batch, n), and what greedy search goes on with.

    cache = model.start_cache() begins empty; model(new_ids, cache) gives the logits (batch, new, vocab) after each of
    the new ids, and the cache keeps them. The prompt is read in one pass, then one id a step.
    """
    COMPONENT.check(fn=fn)


class Sums(nn.Module):
    """Says at each place the sum of place · id up to there; notes what it was given in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Tensor] = []
        self.unused = nn.Parameter(torch.zeros(1))  # whoever asks for the model's device finds one

    def start_cache(self) -> DecoderCache:
        """An empty cache."""
        return DecoderCache(num_layers=0)

    def forward(self, ids: Tensor, cache: DecoderCache | None = None) -> Tensor:
        """New ids (batch, new) -> logits (batch, new, vocab), 1 at the wanted next token."""
        self.read.append(ids)
        so_far = ids if cache is None else cache.append(ids)
        sums = (so_far * torch.arange(1, so_far.shape[1] + 1)).cumsum(1)[:, -ids.shape[1] :]
        return nn.functional.one_hot(sums % VOCAB, VOCAB).float()

    def __repr__(self) -> str:
        return f"says after each id the sum of place · id so far, modulo {VOCAB} (places 1, 2, …)"


class Reading:
    """How many ids each call was given; two such findings are the same when both are economical, or waste alike."""

    def __init__(self, read: list[Tensor], ids: Tensor, steps: int) -> None:
        self.counts = [new.shape[1] for new in read]
        again = sum(new.numel() for new in read) > len(ids) * (ids.shape[1] + steps)
        one_by_one = self.counts[:1] == [1] and ids.shape[1] > 2
        self.judgement = "again" if again else "one by one" if one_by_one else "once"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and self.judgement == other.judgement

    def __hash__(self) -> int:
        return hash(self.judgement)

    def __str__(self) -> str:
        return ", ".join(map(str, self.counts)) or "none"


def _continued(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    model, ids, steps = given.values()
    prompts = ids.clone()
    return {
        "ids": as_tensor(fn(model, ids, steps)),
        "ids read in each call": Reading(model.read, prompts, steps),
    }


def _trial(title: str, ids: list[list[int]], steps: int) -> Trial:
    return Trial(title, {"model": Sums(), "ids": torch.tensor(ids), "steps": steps}, _continued)


def continue_text(
    model: Any,
    ids: Tensor,
    steps: int,
    *,
    first: Callable[[Any, Tensor, Any], Tensor] = lambda model, ids, cache: ids,
    logits: Callable[[Any, Tensor, Tensor, Any], Tensor] = lambda model, new, text, cache: model(new, cache),
    choose: Callable[[Tensor], Tensor] = lambda logits: logits[:, -1:].argmax(-1),
    count: Callable[[int], int] = lambda steps: steps,
) -> Tensor:
    """The prompt in one pass, then each new id; the keywords exchange one step, for the mistakes below."""
    cache = model.start_cache()
    new = first(model, ids, cache)
    for _ in range(count(steps)):
        new = choose(logits(model, new, ids, cache))
        ids = torch.cat([ids, new], dim=1)
    return ids


COMPONENT = Component(
    "continued text",
    chapter=18,
    reference=continue_text,
    trials=[
        _trial("a prompt of three ids, one step", [[3, 5, 2]], 1),
        _trial("a prompt of three ids, three steps", [[3, 5, 2]], 3),
        _trial("two prompts of four ids, two steps", [[4, 1, 7, 3], [6, 9, 3, 5]], 2),
        _trial("no step at all", [[3, 5, 2]], 0),
    ],
)
mistake = COMPONENT.mistake


def _all_then_last(model: Any, ids: Tensor, cache: Any) -> Tensor:
    model(ids, cache)
    return ids[:, -1:]


def _one_by_one(model: Any, ids: Tensor, cache: Any) -> Tensor:
    for place in range(ids.shape[1] - 1):
        model(ids[:, place : place + 1], cache)
    return ids[:, -1:]


def _without_cache(model: Any, new: Tensor, text: Tensor, cache: Any) -> Tensor:
    return model(new, cache if cache.length == 0 else model.start_cache())


def _without_the_prompt(model: Any, ids: Tensor, steps: int) -> Tensor:
    return continue_text(model, ids, steps)[:, ids.shape[1] :]


mistake(
    "the prompt's last token is read twice",
    symptom="texts that stammer at the seam; from there on every position is one too high",
    why="the whole prompt is in the cache, and the loop begins by giving the model its last token once more.",
    hint="After the prompt has been read, whose logits do you have already?",
)(partial(continue_text, first=_all_then_last))
mistake(
    "the cache is left out after the prompt",
    symptom="a good first token, then text that has forgotten the prompt",
    why="without the old cache the newest token stands alone, at position 0, with nothing to look back at.",
    hint="What does the model know of the prompt when it is given one new token? Print cache.length in each step.",
)(partial(continue_text, logits=_without_cache))
mistake(
    "the first new token is read from the wrong row of logits",
    symptom="the first new token goes on from the prompt's first word, not from its last",
    why="logits[:, 0] is the last row only where one token was given; the prompt gives a row for each of its tokens.",
    hint="The logits of a prompt are (batch, n, vocab). Which of the n rows speaks of what comes next?",
)(partial(continue_text, choose=lambda logits: logits[:, :1].argmax(-1)))
mistake(
    "the whole text is read again into the same cache",
    symptom="a good first token, then nonsense, and an index out of range long before max_len",
    why="the cache appends what it is given: the prompt stands in it twice, then three times.",
    hint="How long should the cache be after two steps, and how long is yours?",
)(partial(continue_text, logits=lambda model, new, text, cache: model(text, cache)))
mistake(
    "the text is right, but all of it is read again in each step",
    symptom="each token takes longer than the one before: n tokens cost as much as n² / 2",
    why="the model is called with the whole text and an empty cache, or none, so that every key is computed anew.",
    hint="Which keys and values change when a token is added at the end? How many ids must the model read then?",
)(partial(continue_text, logits=lambda model, new, text, cache: model(text)))
mistake(
    "the text is right, but the prompt is read one token at a time",
    symptom="a long wait before the first new token: n passes where one would do",
    why="all tokens of the prompt are known, and under the causal mask one pass computes all their keys.",
    hint="Which step needs the result of the step before: reading the prompt, or writing?",
)(partial(continue_text, first=_one_by_one))
mistake(
    "there is one token too few",
    symptom="texts one token shorter than asked for",
    why="the first new token comes from the prompt's pass, and the loop that follows is one step short.",
    hint="Count with steps=1: where does the one new token come from, and is it kept?",
)(partial(continue_text, count=lambda steps: steps - 1))
mistake(
    "there is one token too many",
    symptom="texts one token longer than asked for",
    why="the first new token comes from the prompt's pass, and the loop adds `steps` more.",
    hint="Count with steps=1: where does the first new token come from, and what does the loop add?",
)(partial(continue_text, count=lambda steps: steps + 1))
mistake(
    "with steps=0 there is a new token all the same",
    symptom="right but for the smallest case: a prompt that should come back as it is grows",
    why="the first new token is chosen and kept before anything asks how many are wanted.",
    hint="Follow your code with steps=0. Which line runs that should not?",
)(partial(continue_text, count=lambda steps: max(steps, 1)))
mistake(
    "the prompt is missing in what comes back",
    symptom="texts that begin in the middle; code that cuts the prompt off cuts new tokens",
    why="only the new tokens are kept; the contract is (batch, n + steps).",
    hint="How many columns should come back?",
)(_without_the_prompt)
mistake(
    "every row of the batch goes on with the first row's token",
    symptom="right for one prompt; in a batch all texts go on alike",
    why="logits[0, -1] is the first prompt's alone, and the result is spread over the batch.",
    hint="How many tokens are chosen in one step for a batch of two?",
)(partial(continue_text, choose=lambda logits: logits[:1, -1:].argmax(-1).expand(len(logits), 1)))

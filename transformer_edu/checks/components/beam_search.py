"""Checks a beam search on small trees of next tokens, made by hand: no model is needed."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import Unfit, as_number
from transformer_edu.decoding.beam import length_normalizer
from transformer_edu.support.validation import check_number, check_positive_integer

Answer = tuple[list[int], float]  # ids from bos_id on, and the sum of their log-probabilities, in nats
NextLogProbs = Callable[[list[int]], dict[int, float]]  # ids -> {token: log-probability of being the next}
Tree = dict[tuple[int, ...], dict[int, float]]  # ids -> {token: probability of being the next}

BOS, EOS = 1, 2


def check_beam_search(fn: Callable[..., tuple[Sequence[int], float]]) -> None:
    """Check fn(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty) -> (ids, log_prob), the best answer.

    `next_log_probs(ids)` takes a list of ids, bos_id first, and returns {token: natural log of its probability}.
    `ids` go from bos_id to eos_id, at most max_len with both; `log_prob` is the sum of their log-probabilities.

    At each step all partial answers are continued by all tokens. Of all continuations, those among the best beam_size
    that end are put aside, and the best beam_size that do not end are kept. Of the answers put aside, the one with the
    largest log_prob / ((5 + length) / 6) ** length_penalty is the best, where length counts all ids but bos_id. If
    none has ended within max_len ids, the best partial answer is returned as it is. The search may stop when no partial
    answer could become better, even if all its further steps were certain and it went to max_len.
    """
    need_callable("fn", fn)
    BEAM.check(fn)


def best_answer(
    next_log_probs: NextLogProbs,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> Answer:
    """The best answer that a beam search finds, as `check_beam_search` wants it; the first one of `beam_search`."""
    check_positive_integer("max_len", max_len, minimum=2)
    check_positive_integer("beam_size", beam_size)
    check_number("length_penalty", length_penalty, above=-1e-9)

    def score(answer: Answer) -> float:
        ids, log_prob = answer
        return log_prob / length_normalizer(len(ids) - 1, length_penalty)

    beam: list[Answer] = [([bos_id], 0.0)]
    finished: list[Answer] = []
    while len(beam[0][0]) < max_len:
        longer = sorted(continued(beam, next_log_probs), key=lambda answer: -answer[1])
        finished += [answer for answer in longer[:beam_size] if answer[0][-1] == eos_id]
        going_on = [answer for answer in longer if answer[0][-1] != eos_id][:beam_size]
        hope = going_on[0][1] / length_normalizer(max_len - 1, length_penalty) if going_on else -math.inf
        if finished and max(map(score, finished)) >= hope:  # hope: if all further steps were certain
            break
        beam = going_on
    return max(finished or beam, key=score)


def continued(beam: list[Answer], next_log_probs: NextLogProbs) -> list[Answer]:
    """Every partial answer of the beam, continued by every token that is possible after it."""
    longer = [
        ([*ids, token], log_prob + step)
        for ids, log_prob in beam
        for token, step in next_log_probs(list(ids)).items()
        if step > -math.inf
    ]
    if not longer:
        raise ValueError(f"next_log_probs({beam[0][0]}) must allow at least one token, got none")
    return longer


def _tokens(ids: Any) -> list[int]:
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    if not isinstance(listed, list | tuple):
        raise Unfit(f"returned a {type(ids).__name__} as ids, expected a list of ids from bos_id to eos_id")
    try:
        return [index(token) for token in listed]
    except TypeError:
        raise Unfit(f"returned {str(ids)[:60]} as ids, expected a list of whole numbers") from None


def _result(result: Any) -> dict[str, Any]:
    if result is None:
        raise Unfit("returned None, expected (ids, log_prob): is the `return` missing?")
    if not isinstance(result, tuple | list):
        raise Unfit(f"returned a {type(result).__name__}, expected (ids, log_prob)")
    if len(result) != 2:
        raise Unfit(f"returned {len(result)} things, expected two: (ids, log_prob)")
    return {"ids": _tokens(result[0]), "log_prob": as_number(result[1])}


def _search(tree: Tree, fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    def next_log_probs(ids: Sequence[int]) -> dict[int, float]:
        if not isinstance(ids, list | tuple):
            raise TypeError(f"next_log_probs takes a list of ids, bos_id first, got {type(ids).__name__}")
        row = tree.get(tuple(ids), {given["eos_id"]: 1.0})
        return {token: math.log(probability) for token, probability in row.items()}

    settings = [given[name] for name in ("bos_id", "eos_id", "max_len", "beam_size", "length_penalty")]
    return _result(fn(next_log_probs, *settings))


def _written(row: dict[int, float]) -> str:
    return "{" + ", ".join(f"{token}: log {probability:g}" for token, probability in row.items()) + "}"


def _trial(
    title: str, tree: Tree, max_len: int, beam_size: int, length_penalty: float, bos_id: int = BOS, eos_id: int = EOS
) -> Trial:
    rows = {f"next_log_probs({list(ids)})": _written(row) for ids, row in tree.items()}
    rows["next_log_probs(any other)"] = _written({eos_id: 1.0})
    settings = {"max_len": max_len, "beam_size": beam_size, "length_penalty": length_penalty}
    return Trial(title, {**rows, "bos_id": bos_id, "eos_id": eos_id, **settings}, partial(_search, tree))


BEAM = Component(
    "beam search",
    reference=best_answer,
    trials=[
        _trial(
            "the likelier beginning leads to less",
            {(1,): {3: 0.6, 4: 0.4}, (1, 3): {2: 0.4, 5: 0.35, 6: 0.25}, (1, 4): {5: 0.9, 2: 0.1}},
            max_len=5, beam_size=2, length_penalty=0.0,
        ),
        _trial(
            "an answer ends at once, a longer one is better by its score",
            {(1,): {2: 0.38, 3: 0.43, 4: 0.19}, (1, 3): {4: 0.7, 5: 0.3}},
            max_len=6, beam_size=2, length_penalty=1.0,
        ),
        _trial(
            "an answer ends at once, and no longer one is better",
            {(1,): {2: 0.42, 3: 0.43, 4: 0.15}, (1, 3): {4: 0.7, 5: 0.3}},
            max_len=6, beam_size=2, length_penalty=1.0,
        ),
        _trial(
            "the same with a smaller length penalty",
            {(1,): {2: 0.3, 3: 0.5, 4: 0.2}, (1, 3): {4: 0.6, 5: 0.4}, (1, 3, 4): {6: 0.7, 3: 0.3}},
            max_len=7, beam_size=2, length_penalty=0.6,
        ),
        _trial(
            "the better answer ends one step after another one",
            {(1,): {2: 0.3, 3: 0.45, 4: 0.25}, (1, 3): {2: 0.6, 5: 0.4}, (1, 4): {5: 0.6, 2: 0.4}},
            max_len=6, beam_size=2, length_penalty=1.0,
        ),
        _trial(
            "an answer ends, and a partial one moves up",
            {(1,): {2: 0.38, 3: 0.34, 4: 0.28}, (1, 3): {5: 0.4, 6: 0.35, 2: 0.25}, (1, 4): {5: 1.0}},
            max_len=6, beam_size=2, length_penalty=1.2,
        ),
        _trial(
            "an answer ends, and two others still have their places",
            {
                (1,): {2: 0.36, 3: 0.55, 4: 0.09}, (1, 3): {5: 0.5, 6: 0.48, 2: 0.02},
                (1, 3, 5): {2: 0.5, 7: 0.3, 4: 0.2},
            },
            max_len=6, beam_size=2, length_penalty=1.0,
        ),
        _trial(
            "the best two partial answers have the same beginning",
            {
                (1,): {3: 0.6, 4: 0.4}, (1, 3): {5: 0.45, 6: 0.4, 7: 0.15}, (1, 4): {5: 0.55, 6: 0.45},
                (1, 3, 5): {2: 0.6, 7: 0.4}, (1, 3, 6): {2: 0.7, 7: 0.3},
            },
            max_len=6, beam_size=2, length_penalty=0.0,
        ),
        _trial(
            "the likeliest answer begins with the third best token, out of sight for a beam of two",
            {(1,): {3: 0.4, 4: 0.35, 5: 0.25}, (1, 3): {2: 0.5, 6: 0.3, 7: 0.2}, (1, 4): {6: 0.6, 2: 0.4}},
            max_len=5, beam_size=2, length_penalty=0.0,
        ),
        _trial(
            "a beam of one: the end is only the second best token",
            {(1,): {3: 0.6, 2: 0.4}, (1, 3): {4: 0.5, 5: 0.3, 2: 0.2}},
            max_len=6, beam_size=1, length_penalty=0.0,
        ),
        _trial(
            "a beam of three, and other ids for begin and end",
            {(7,): {3: 0.5, 4: 0.28, 0: 0.22}, (7, 3): {3: 0.5, 4: 0.3, 0: 0.2}, (7, 4): {0: 0.7, 3: 0.3}},
            max_len=6, beam_size=3, length_penalty=0.6, bos_id=7, eos_id=0,
        ),
        _trial(
            "a limit too short for the likeliest answer",
            {(1,): {3: 0.7, 4: 0.3}, (1, 3): {5: 0.8, 2: 0.2}},
            max_len=3, beam_size=2, length_penalty=0.6,
        ),
        _trial(
            "no answer ends within the limit",
            {(1,): {3: 0.6, 4: 0.4}, (1, 3): {5: 0.5, 6: 0.3, 2: 0.2}, (1, 4): {3: 0.9, 2: 0.1}},
            max_len=3, beam_size=2, length_penalty=0.6,
        ),
    ],
)  # fmt: skip

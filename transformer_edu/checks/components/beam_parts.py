"""A beam search whose parts can be exchanged, and wrong parts: what the known mistakes are made of."""

from collections.abc import Callable

from transformer_edu.checks.components.beam_search import Answer, NextLogProbs
from transformer_edu.decoding.beam import length_normalizer

Score = Callable[[float, int, float], float]  # log-probability, length, length penalty -> score
Add = Callable[[float, float, int, float], float]  # total, step, new length, length penalty -> new total
Part = Callable[..., list[Answer]]  # continuations, best first; beam_size; eos_id -> some of them


def normalized(log_prob: float, length: int, length_penalty: float) -> float:
    """The right score."""
    return log_prob / length_normalizer(length, length_penalty)


def ended_among_the_best(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """The right ones to put aside."""
    return [one for one in longer[:size] if one[0][-1] == eos_id]


def best_that_go_on(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """The right ones to keep."""
    return [one for one in longer if one[0][-1] != eos_id][:size]


def search(
    next_log_probs: NextLogProbs,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int,
    length_penalty: float,
    *,
    start: float = 0.0,
    add: Add = lambda total, step, length, penalty: total + step,
    aside: Part = ended_among_the_best,
    keep: Part = best_that_go_on,
    enough: Callable[[list[Answer], list[Answer], int], bool] = lambda finished, beam, size: False,
    choose_from: Callable[[list[Answer], list[Answer]], list[Answer]] = lambda finished, beam: finished or beam,
    score: Score = normalized,
) -> Answer:
    """The right search; the keywords exchange one part, for the mistakes below."""
    beam: list[Answer] = [([bos_id], start)]
    finished: list[Answer] = []
    while beam and len(beam[0][0]) < max_len and not enough(finished, beam, beam_size):
        rows = [(ids, total, next_log_probs(ids)) for ids, total in beam]
        longer = [
            ([*ids, token], add(total, step, len(ids), length_penalty))
            for ids, total, row in rows
            for token, step in row.items()
        ]
        longer.sort(key=lambda one: -one[1])
        finished += aside(longer, beam_size, eos_id)
        beam = keep(longer, beam_size, eos_id)
    return max(choose_from(finished, beam), key=lambda one: score(one[1], len(one[0]) - 1, length_penalty))


def greedy(
    next_log_probs: NextLogProbs, bos_id: int, eos_id: int, max_len: int, beam_size: int, length_penalty: float
) -> Answer:
    """The likeliest token at every step."""
    ids, log_prob = [bos_id], 0.0
    while ids[-1] != eos_id and len(ids) < max_len:
        row = next_log_probs(ids)
        token = max(row, key=lambda one: row[one])
        ids, log_prob = [*ids, token], log_prob + row[token]
    return ids, log_prob


def every_end(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Every continuation that ends."""
    return [one for one in longer if one[0][-1] == eos_id]


def all_that_go_on(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Every continuation that does not end."""
    return [one for one in longer if one[0][-1] != eos_id]


def best_that_go_on_of_few(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Those of the best `size` that do not end."""
    return [one for one in longer[:size] if one[0][-1] != eos_id]


def best_of_each_parent(longer: list[Answer], size: int) -> list[Answer]:
    """Of every partial answer the best continuation; of the begin token, which stands alone, the best `size`."""
    if len(longer[0][0]) == 2:  # all have the same parent, the begin token
        return longer[:size]
    best: dict[tuple[int, ...], Answer] = {}
    for one in longer:
        best.setdefault(tuple(one[0][:-1]), one)
    return list(best.values())


def several_of_each_parent(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Of every partial answer the best `size` continuations that do not end."""
    children: dict[tuple[int, ...], list[Answer]] = {}
    for one in all_that_go_on(longer, size, eos_id):
        children.setdefault(tuple(one[0][:-1]), []).append(one)
    return [one for of_one in children.values() for one in of_one[:size]]


def ended_keep_their_place(
    next_log_probs: NextLogProbs, bos_id: int, eos_id: int, max_len: int, beam_size: int, length_penalty: float
) -> Answer:
    """A search in whose beam ended answers stay."""
    beam: list[Answer] = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        ended = [one for one in beam if one[0][-1] == eos_id]
        rows = [(ids, total, next_log_probs(ids)) for ids, total in beam if ids[-1] != eos_id]
        longer = [([*ids, token], total + step) for ids, total, row in rows for token, step in row.items()]
        beam = sorted([*ended, *longer], key=lambda one: -one[1])[:beam_size]
    ended = [one for one in beam if one[0][-1] == eos_id]
    return max(ended or beam, key=lambda one: normalized(one[1], len(one[0]) - 1, length_penalty))

"""Checks a beam search on small trees of next tokens, made by hand: no model is needed."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_number
from transformer_edu.decoding.beam import length_normalizer

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
    COMPONENT.check(fn=fn)


def best_answer(
    next_log_probs: NextLogProbs,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> Answer:
    """The best answer that a beam search finds, as `check_beam_search` wants it; the first one of `beam_search`."""

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
    return [
        ([*ids, token], log_prob + step)
        for ids, log_prob in beam
        for token, step in next_log_probs(list(ids)).items()
        if step > -math.inf
    ]


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


COMPONENT = Component(
    "beam search", chapter=14,
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
mistake = COMPONENT.mistake
Score = Callable[[float, int, float], float]  # log-probability, length, length penalty -> score
Add = Callable[[float, float, int, float], float]  # total, step, new length, length penalty -> new total
Part = Callable[..., list[Answer]]  # continuations, best first; beam_size; eos_id -> some of them


def normalized(log_prob: float, length: int, length_penalty: float) -> float:
    """The right score."""
    return log_prob / length_normalizer(length, length_penalty)


def ended_among_the_best(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """The right ones to put aside."""
    return [answer for answer in longer[:size] if answer[0][-1] == eos_id]


def best_that_go_on(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """The right ones to keep."""
    return [answer for answer in longer if answer[0][-1] != eos_id][:size]


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
        longer.sort(key=lambda answer: -answer[1])
        finished += aside(longer, beam_size, eos_id)
        beam = keep(longer, beam_size, eos_id)
    return max(choose_from(finished, beam), key=lambda answer: score(answer[1], len(answer[0]) - 1, length_penalty))


def greedy(
    next_log_probs: NextLogProbs, bos_id: int, eos_id: int, max_len: int, beam_size: int, length_penalty: float
) -> Answer:
    """The likeliest token at every step."""
    ids, log_prob = [bos_id], 0.0
    while ids[-1] != eos_id and len(ids) < max_len:
        row = next_log_probs(ids)
        token = max(row, key=lambda candidate: row[candidate])
        ids, log_prob = [*ids, token], log_prob + row[token]
    return ids, log_prob


def every_end(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Every continuation that ends."""
    return [answer for answer in longer if answer[0][-1] == eos_id]


def all_that_go_on(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Every continuation that does not end."""
    return [answer for answer in longer if answer[0][-1] != eos_id]


def best_that_go_on_of_few(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Those of the best `size` that do not end."""
    return [answer for answer in longer[:size] if answer[0][-1] != eos_id]


def best_of_each_parent(longer: list[Answer], size: int) -> list[Answer]:
    """Of every partial answer the best continuation; of the begin token, which stands alone, the best `size`."""
    if len(longer[0][0]) == 2:  # all have the same parent, the begin token
        return longer[:size]
    best: dict[tuple[int, ...], Answer] = {}
    for answer in longer:
        best.setdefault(tuple(answer[0][:-1]), answer)
    return list(best.values())


def several_of_each_parent(longer: list[Answer], size: int, eos_id: int) -> list[Answer]:
    """Of every partial answer the best `size` continuations that do not end."""
    children: dict[tuple[int, ...], list[Answer]] = {}
    for answer in all_that_go_on(longer, size, eos_id):
        children.setdefault(tuple(answer[0][:-1]), []).append(answer)
    return [answer for of_one in children.values() for answer in of_one[:size]]


def ended_keep_their_place(
    next_log_probs: NextLogProbs, bos_id: int, eos_id: int, max_len: int, beam_size: int, length_penalty: float
) -> Answer:
    """A search in whose beam ended answers stay."""
    beam: list[Answer] = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        ended = [answer for answer in beam if answer[0][-1] == eos_id]
        rows = [(ids, total, next_log_probs(ids)) for ids, total in beam if ids[-1] != eos_id]
        longer = [([*ids, token], total + step) for ids, total, row in rows for token, step in row.items()]
        beam = sorted([*ended, *longer], key=lambda answer: -answer[1])[:beam_size]
    ended = [answer for answer in beam if answer[0][-1] == eos_id]
    return max(ended or beam, key=lambda answer: normalized(answer[1], len(answer[0]) - 1, length_penalty))


mistake(
    "it is greedy search: beam_size has no effect",
    symptom="the same answers for every beam_size",
    why="at each step one token is chosen, and the other beginnings are lost.",
    hint="How many partial answers are alive after the first step?",
)(greedy)
mistake(
    "beam_size has no effect: every partial answer is kept",
    symptom="right answers on tiny examples; time and memory grow with every step until nothing moves",
    why="the continuations are never cut to the best beam_size, so this is a search through all answers.",
    hint="How many partial answers are alive after the second step?",
)(partial(search, aside=every_end, keep=all_that_go_on))
mistake(
    "each partial answer keeps its own best continuation",
    symptom="after the first step the beam is a few greedy searches side by side",
    why="a maximum is taken for each parent; the continuations of different parents never compete.",
    hint="May both survivors have the same parent? Put all continuations into one list before you cut it.",
)(
    partial(
        search,
        aside=lambda longer, size, eos_id: every_end(best_of_each_parent(longer, size), size, eos_id),
        keep=lambda longer, size, eos_id: all_that_go_on(best_of_each_parent(longer, size), size, eos_id),
    )
)
mistake(
    "beam_size continuations of each partial answer are kept, not of all together",
    symptom="the beam grows with every step, and so does the time",
    why="the cut is made inside the loop over the parents.",
    hint="How many partial answers are alive after the second step? Where must the cut stand?",
)(partial(search, keep=several_of_each_parent))
mistake(
    "the beam narrows when an answer ends",
    symptom="with a beam of two, one early end leaves a greedy search",
    why="the best beam_size are taken first, and those that end are then missing among those that go on.",
    hint="beam_size partial answers should go on. When one of the best has ended, which continuation moves up?",
)(partial(search, keep=best_that_go_on_of_few))
mistake(
    "an answer that has ended keeps its place in the beam",
    symptom="the more answers have ended, the fewer are looked for; short answers win too often",
    why="ended answers stay in the list of partial ones, are carried along and crowd out others.",
    hint="Where could an answer that is ready wait without taking a place from one that is not?",
)(ended_keep_their_place)
mistake(
    "answers go on after their end token",
    symptom="an end token in the middle, and words after it; every answer is max_len long",
    why="nobody looks whether the last token is eos_id before the answer is continued.",
    hint="What should happen to an answer whose last token is eos_id?",
)(partial(search, aside=lambda longer, size, eos_id: [], keep=lambda longer, size, eos_id: longer[:size]))
mistake(
    "an end is put aside though it is not among the best beam_size continuations",
    symptom="a beam of one is not greedy search; unlikely short answers turn up",
    why="of every partial answer the end token is taken, whatever its rank.",
    hint="Which rank must an end have among all continuations of this step?",
)(partial(search, aside=every_end))
mistake(
    "the first answer that ends stops the search",
    symptom="answers that are too short; a larger beam makes them shorter still",
    why="the function returns as soon as it sees eos_id, though a partial answer could still become better.",
    hint="When can no partial answer become better than the best one put aside?",
)(partial(search, enough=lambda finished, beam, size: bool(finished)))
mistake(
    "the search stops when beam_size answers have ended",
    symptom="longer answers that are better are missed",
    why="their number says nothing about those that are still on their way.",
    hint="What score could the best partial answer reach if all its further steps were certain?",
)(partial(search, enough=lambda finished, beam, size: len(finished) >= size))
mistake(
    "the search stops when the best ended answer has a larger log-probability than every partial one",
    symptom="length_penalty has less effect than it should",
    why="log-probabilities are compared, but the scores decide: a partial answer can gain by becoming longer.",
    hint="What score would the best partial answer have at max_len if all its further steps were certain?",
)(partial(search, enough=lambda finished, beam, size: bool(finished) and max(end[1] for end in finished) >= beam[0][1]))
mistake(
    "the last answer that ends wins",
    symptom="a good early answer is lost",
    why="what is put aside is overwritten, or never compared with what ends later.",
    hint="How many answers have been put aside in the end, and who compares them?",
)(partial(search, choose_from=lambda finished, beam: finished[-1:] or beam))
mistake(
    "partial answers compete with the ones that have ended",
    symptom="answers without an end, cut at max_len",
    why="at the limit everything is thrown into one list; a partial answer has not paid for its end yet.",
    hint="When may an answer without eos_id be returned at all?",
)(partial(search, choose_from=lambda finished, beam: [*finished, *beam]))
mistake(
    "there is no answer to return when none ends within the limit",
    symptom="an error for the rare sentence whose answers are all cut at max_len",
    why="the list of ended answers is empty then, and the maximum of nothing is asked for.",
    hint="Which answer is better than none?",
)(partial(search, choose_from=lambda finished, beam: finished))


def _score_returned(*given: Any) -> Answer:
    ids, log_prob = best_answer(*given)
    return ids, normalized(log_prob, len(ids) - 1, given[-1])


def _probability_returned(*given: Any) -> Answer:
    ids, log_prob = best_answer(*given)
    return ids, math.exp(log_prob)


def _without_bos(*given: Any) -> Answer:
    ids, log_prob = best_answer(*given)
    return ids[1:], log_prob


def _without_eos(*given: Any) -> Answer:
    ids, log_prob = best_answer(*given)
    return (ids[:-1] if ids[-1] == given[2] else ids), log_prob


def _limit_without_bos(next_log_probs: NextLogProbs, bos_id: int, eos_id: int, max_len: int, *rest: Any) -> Answer:
    return best_answer(next_log_probs, bos_id, eos_id, max_len + 1, *rest)


mistake(
    "length_penalty has no effect",
    symptom="answers that are too short: every further token lowers a sum of log-probabilities",
    why="the ended answers are compared by log_prob itself, not by their score.",
    hint="What are two answers of different length compared by?",
)(partial(search, score=lambda log_prob, length, penalty: log_prob))
mistake(
    "the log-probability is multiplied by the length's factor, not divided",
    symptom="the larger length_penalty, the shorter the answers",
    why="log-probabilities are negative: a larger factor makes a long answer's score worse.",
    hint="Try -2 and a factor of 1.5. Which of the two operations brings it closer to 0?",
)(partial(search, score=lambda log_prob, length, penalty: log_prob * ((5 + length) / 6) ** penalty))
mistake(
    "the begin token counts in the length",
    symptom="now and then another winner than in other programs",
    why="len(ids) is used, but bos_id was given, not chosen.",
    hint="How long is [bos, eos]? Its factor must be 1.",
)(partial(search, score=lambda log_prob, length, penalty: normalized(log_prob, length + 1, penalty)))
mistake(
    "the end token does not count in the length",
    symptom="now and then another winner than in other programs",
    why="the length is taken before the end token is appended, or only words are counted.",
    hint="How long is [bos, eos]? Its factor must be 1.",
)(partial(search, score=lambda log_prob, length, penalty: normalized(log_prob, length - 1, penalty)))
mistake(
    "the score is log_prob / length ** length_penalty",
    symptom="longer answers than in other programs",
    why="this is another formula; ((5 + length) / 6) grows more slowly with the length.",
    hint="What is the factor for a length of 7 and a penalty of 1? It should be 2.",
)(partial(search, score=lambda log_prob, length, penalty: log_prob / length**penalty))
mistake(
    "the sum is normalized at every step, and the next step is added to the result",
    symptom="early tokens count for less than late ones; log_prob is no log-probability",
    why="the score takes the place of the sum that it was computed from.",
    hint="Keep two numbers apart: the sum, which goes on, and the score, which only compares.",
)(
    partial(
        search,
        add=lambda total, step, length, penalty: normalized(total + step, length, penalty),
        score=lambda total, length, penalty: total,
    )
)
mistake(
    "log_prob is the score",
    symptom="log-probabilities that change with length_penalty",
    why="the number by which answers are compared is returned in place of the sum.",
    hint="Does the probability of an answer depend on length_penalty?",
)(_score_returned)
mistake(
    "log_prob is the probability",
    symptom="a number between 0 and 1 that becomes 0 for long answers",
    why="exp() is taken, or probabilities are multiplied all along.",
    hint="Can a log-probability be positive?",
)(_probability_returned)
mistake(
    "probabilities are added up",
    symptom="long answers win; the sum grows beyond 1",
    why="exp() turns each step into a probability; an answer's probability is the product of its steps', "
    "not their sum.",
    hint="What may be added: probabilities, or their logarithms?",
)(partial(search, add=lambda total, step, length, penalty: total + math.exp(step)))
mistake(
    "log-probabilities are multiplied",
    symptom="the sign changes from step to step, and so does which answers are best",
    why="the probability of an answer is a product, its logarithm is a sum.",
    hint="log(a * b) = ?",
)(partial(search, start=1.0, add=lambda total, step, length, penalty: total * step))
mistake(
    "bos_id is missing in the ids",
    symptom="answers one token shorter than every other search's; code that strips bos_id strips a word",
    why="the contract keeps the begin token as the first one.",
    hint="What does the contract say about the first token?",
)(_without_bos)
mistake(
    "eos_id is missing in the ids",
    symptom="an answer that has ended looks like one that was cut at the limit",
    why="the contract keeps the end token as the last one.",
    hint="What does the contract say about the last token?",
)(_without_eos)
mistake(
    "max_len is counted without bos_id",
    symptom="answers of max_len + 1 tokens, one past the positional table at worst",
    why="the contract counts the begin token as well.",
    hint="How long is your answer when nothing ends it?",
)(_limit_without_bos)

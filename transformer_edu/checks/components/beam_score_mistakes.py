"""Known mistakes in beam search: sums, scores, lengths, and what is returned."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from transformer_edu.checks.components.beam_parts import normalized, search
from transformer_edu.checks.components.beam_search import BEAM, Answer, NextLogProbs, best_answer


def _known(name: str, symptom: str, why: str, hint: str, wrong: Callable[..., Any]) -> None:
    BEAM.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


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


_known(
    "length_penalty has no effect",
    "answers that are too short: every further token lowers a sum of log-probabilities",
    "the ended answers are compared by log_prob itself, not by their score.",
    "What are two answers of different length compared by?",
    partial(search, score=lambda log_prob, length, penalty: log_prob),
)
_known(
    "the log-probability is multiplied by the length's factor, not divided",
    "the larger length_penalty, the shorter the answers",
    "log-probabilities are negative: a larger factor makes a long answer's score worse.",
    "Try -2 and a factor of 1.5. Which of the two operations brings it closer to 0?",
    partial(search, score=lambda log_prob, length, penalty: log_prob * ((5 + length) / 6) ** penalty),
)
_known(
    "the begin token counts in the length",
    "now and then another winner than in other programs",
    "len(ids) is used, but bos_id was given, not chosen.",
    "How long is [bos, eos]? Its factor must be 1.",
    partial(search, score=lambda log_prob, length, penalty: normalized(log_prob, length + 1, penalty)),
)
_known(
    "the end token does not count in the length",
    "now and then another winner than in other programs",
    "the length is taken before the end token is appended, or only words are counted.",
    "How long is [bos, eos]? Its factor must be 1.",
    partial(search, score=lambda log_prob, length, penalty: normalized(log_prob, length - 1, penalty)),
)
_known(
    "the score is log_prob / length ** length_penalty",
    "longer answers than in other programs",
    "this is another formula; ((5 + length) / 6) grows more slowly with the length.",
    "What is the factor for a length of 7 and a penalty of 1? It should be 2.",
    partial(search, score=lambda log_prob, length, penalty: log_prob / length**penalty),
)
_known(
    "the sum is normalized at every step, and the next step is added to the result",
    "early tokens count for less than late ones; log_prob is no log-probability",
    "the score takes the place of the sum that it was computed from.",
    "Keep two numbers apart: the sum, which goes on, and the score, which only compares.",
    partial(
        search,
        add=lambda total, step, length, penalty: normalized(total + step, length, penalty),
        score=lambda total, length, penalty: total,
    ),
)
_known(
    "log_prob is the score",
    "log-probabilities that change with length_penalty",
    "the number by which answers are compared is returned in place of the sum.",
    "Does the probability of an answer depend on length_penalty?",
    _score_returned,
)
_known(
    "log_prob is the probability",
    "a number between 0 and 1 that becomes 0 for long answers",
    "exp() is taken, or probabilities are multiplied all along.",
    "Can a log-probability be positive?",
    _probability_returned,
)
_known(
    "probabilities are added up",
    "long answers win; the sum grows beyond 1",
    "exp() turns each step into a probability; an answer's probability is the product of its steps', not their sum.",
    "What may be added: probabilities, or their logarithms?",
    partial(search, add=lambda total, step, length, penalty: total + math.exp(step)),
)
_known(
    "log-probabilities are multiplied",
    "the sign changes from step to step, and so does which answers are best",
    "the probability of an answer is a product, its logarithm is a sum.",
    "log(a * b) = ?",
    partial(search, start=1.0, add=lambda total, step, length, penalty: total * step),
)
_known(
    "bos_id is missing in the ids",
    "answers one token shorter than every other search's; code that strips bos_id strips a word",
    "the contract keeps the begin token as the first one.",
    "What does the contract say about the first token?",
    _without_bos,
)
_known(
    "eos_id is missing in the ids",
    "an answer that has ended looks like one that was cut at the limit",
    "the contract keeps the end token as the last one.",
    "What does the contract say about the last token?",
    _without_eos,
)
_known(
    "max_len is counted without bos_id",
    "answers of max_len + 1 tokens, one past the positional table at worst",
    "the contract counts the begin token as well.",
    "How long is your answer when nothing ends it?",
    _limit_without_bos,
)

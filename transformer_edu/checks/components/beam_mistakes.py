"""Known mistakes in beam search: which answers are kept, put aside and compared."""

from collections.abc import Callable
from functools import partial
from typing import Any

from transformer_edu.checks.components.beam_parts import (
    all_that_go_on,
    best_of_each_parent,
    best_that_go_on_of_few,
    ended_keep_their_place,
    every_end,
    greedy,
    search,
    several_of_each_parent,
)
from transformer_edu.checks.components.beam_search import BEAM


def _known(name: str, symptom: str, why: str, hint: str, wrong: Callable[..., Any]) -> None:
    BEAM.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


_known(
    "it is greedy search: beam_size has no effect",
    "the same answers for every beam_size",
    "at each step one token is chosen, and the other beginnings are lost.",
    "How many partial answers are alive after the first step?",
    greedy,
)
_known(
    "beam_size has no effect: every partial answer is kept",
    "right answers on tiny examples; time and memory grow with every step until nothing moves",
    "the continuations are never cut to the best beam_size, so this is a search through all answers.",
    "How many partial answers are alive after the second step?",
    partial(search, aside=every_end, keep=all_that_go_on),
)
_known(
    "each partial answer keeps its own best continuation",
    "after the first step the beam is a few greedy searches side by side",
    "a maximum is taken for each parent; the continuations of different parents never compete.",
    "May both survivors have the same parent? Put all continuations into one list before you cut it.",
    partial(
        search,
        aside=lambda longer, size, eos_id: every_end(best_of_each_parent(longer, size), size, eos_id),
        keep=lambda longer, size, eos_id: all_that_go_on(best_of_each_parent(longer, size), size, eos_id),
    ),
)
_known(
    "beam_size continuations of each partial answer are kept, not of all together",
    "the beam grows with every step, and so does the time",
    "the cut is made inside the loop over the parents.",
    "How many partial answers are alive after the second step? Where must the cut stand?",
    partial(search, keep=several_of_each_parent),
)
_known(
    "the beam narrows when an answer ends",
    "with a beam of two, one early end leaves a greedy search",
    "the best beam_size are taken first, and those that end are then missing among those that go on.",
    "beam_size partial answers should go on. When one of the best has ended, which continuation moves up?",
    partial(search, keep=best_that_go_on_of_few),
)
_known(
    "an answer that has ended keeps its place in the beam",
    "the more answers have ended, the fewer are looked for; short answers win too often",
    "ended answers stay in the list of partial ones, are carried along and crowd out others.",
    "Where could an answer that is ready wait without taking a place from one that is not?",
    ended_keep_their_place,
)
_known(
    "answers go on after their end token",
    "an end token in the middle, and words after it; every answer is max_len long",
    "nobody looks whether the last token is eos_id before the answer is continued.",
    "What should happen to an answer whose last token is eos_id?",
    partial(search, aside=lambda longer, size, eos_id: [], keep=lambda longer, size, eos_id: longer[:size]),
)
_known(
    "an end is put aside though it is not among the best beam_size continuations",
    "a beam of one is not greedy search; unlikely short answers turn up",
    "of every partial answer the end token is taken, whatever its rank.",
    "Which rank must an end have among all continuations of this step?",
    partial(search, aside=every_end),
)
_known(
    "the first answer that ends stops the search",
    "answers that are too short; a larger beam makes them shorter still",
    "the function returns as soon as it sees eos_id, though a partial answer could still become better.",
    "When can no partial answer become better than the best one put aside?",
    partial(search, enough=lambda finished, beam, size: bool(finished)),
)
_known(
    "the search stops when beam_size answers have ended",
    "longer answers that are better are missed",
    "their number says nothing about those that are still on their way.",
    "What score could the best partial answer reach if all its further steps were certain?",
    partial(search, enough=lambda finished, beam, size: len(finished) >= size),
)
_known(
    "the search stops when the best ended answer has a larger log-probability than every partial one",
    "length_penalty has less effect than it should",
    "log-probabilities are compared, but the scores decide: a partial answer can gain by becoming longer.",
    "What score would the best partial answer have at max_len if all its further steps were certain?",
    partial(
        search, enough=lambda finished, beam, size: bool(finished) and max(one[1] for one in finished) >= beam[0][1]
    ),
)
_known(
    "the last answer that ends wins",
    "a good early answer is lost",
    "what is put aside is overwritten, or never compared with what ends later.",
    "How many answers have been put aside in the end, and who compares them?",
    partial(search, choose_from=lambda finished, beam: finished[-1:] or beam),
)
_known(
    "partial answers compete with the ones that have ended",
    "answers without an end, cut at max_len",
    "at the limit everything is thrown into one list; a partial answer has not paid for its end yet.",
    "When may an answer without eos_id be returned at all?",
    partial(search, choose_from=lambda finished, beam: [*finished, *beam]),
)
_known(
    "there is no answer to return when none ends within the limit",
    "an error for the rare sentence whose answers are all cut at max_len",
    "the list of ended answers is empty then, and the maximum of nothing is asked for.",
    "Which answer is better than none?",
    partial(search, choose_from=lambda finished, beam: finished),
)

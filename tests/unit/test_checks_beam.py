"""The check of beam search: its reference is the package's own search, and submissions of every kind are told apart."""

import heapq
import itertools
import math

import numpy as np
import pytest
import torch

from tests.properties.models import BOS, EOS, PAD, SOURCE, lively_model
from tests.unit.checked import accepts, failure, names, refuses
from transformer_edu.checks.components.beam_search import COMPONENT, best_answer
from transformer_edu.checks.engine.trial import observe
from transformer_edu.decoding.beam import beam_search, length_normalizer

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ the reference


def of_model(model, source):
    """What a model says after some ids, as the dictionary that `best_answer` asks for."""

    @torch.no_grad()
    def next_log_probs(ids):
        logits = model(source[None], torch.tensor([ids]))[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        return dict(enumerate(torch.log_softmax(logits, dim=-1).tolist()))

    return next_log_probs


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_finds_what_beam_search_finds(seed):
    model = lively_model(seed, "pre").eval()
    winners = set()
    for beam_size, alpha, max_len in itertools.product((1, 2, 4, 9), (0.0, 0.6, 1.5), (3, 8)):
        found = beam_search(model, SOURCE, BOS, EOS, max_len, beam_size, alpha)
        for row, (expected, *_) in zip(SOURCE, found, strict=True):
            ids, log_prob = best_answer(of_model(model, row[row != PAD]), BOS, EOS, max_len, beam_size, alpha)
            assert tuple(ids) == expected.ids
            assert log_prob == pytest.approx(expected.log_prob, abs=1e-5)  # summed in float32 there
            winners.add(expected.ids)
    assert len(winners) > len(SOURCE), "the settings make no difference here, so nothing was tested"


def random_language(seed, words=4):
    """Four words and an end whose log-probabilities depend on the whole prefix."""

    def next_log_probs(ids):
        chance = np.random.default_rng([seed, *ids])
        logs = np.log(chance.dirichlet(np.ones(words + 1)))
        return dict(zip((EOS, *range(3, 3 + words)), logs.tolist(), strict=True))

    return next_log_probs


def every_answer(next_log_probs, max_len, ids=(BOS,), log_prob=0.0):
    """All answers that end within max_len."""
    if ids[-1] == EOS:
        yield list(ids), log_prob
    elif len(ids) < max_len:
        for token, step in next_log_probs(list(ids)).items():
            yield from every_answer(next_log_probs, max_len, (*ids, token), log_prob + step)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_of_all_answers(seed, alpha):
    language = random_language(seed)
    answers = every_answer(language, 5)
    ids, log_prob = max(answers, key=lambda one: one[1] / length_normalizer(len(one[0]) - 1, alpha))
    found = best_answer(language, BOS, EOS, 5, beam_size=4**4 + 1, length_penalty=alpha)
    assert found == (ids, pytest.approx(log_prob))


def test_the_reference_stops_when_nothing_can_become_better():
    asked = []

    def next_log_probs(ids):
        asked.append(ids)
        return {EOS: math.log(0.9), 3: math.log(0.1)}

    assert best_answer(next_log_probs, BOS, EOS, 50, 2, 0.6)[0] == [BOS, EOS]
    assert len(asked) == 1


@pytest.mark.parametrize("at", [1e-4, -1e-4])
def test_no_trial_is_decided_by_a_tie(at):
    def nudged(next_log_probs, *settings):
        def moved(ids):
            return {token: p + at * math.sin(7 * token + len(ids)) for token, p in next_log_probs(ids).items()}

        return best_answer(moved, *settings)

    for trial in COMPONENT.trials:
        assert observe(trial, nudged)["ids"] == observe(trial, best_answer)["ids"], trial.title


# ------------------------------------------------------------------ right submissions


def with_a_heap(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    """Tuples, a heap, no early stop."""
    beam, best = [(0.0, (bos_id,))], []
    for length in range(1, max_len):
        every = ((total + p, (*ids, token)) for total, ids in beam for token, p in next_log_probs(ids).items())
        first = heapq.nlargest(2 * beam_size, every)
        for rank, (total, ids) in enumerate(first):
            if ids[-1] == eos_id and rank < beam_size:
                best.append((total / ((5 + length) / 6) ** length_penalty, total, ids))
        beam = [one for one in first if one[1][-1] != eos_id][:beam_size]
    if best:
        return max(best)[2], max(best)[1]
    return beam[0][1], beam[0][0]


def returned_as(make_ids, make_number):
    def search(*given):
        ids, log_prob = best_answer(*given)
        return make_ids(ids), make_number(log_prob)

    return search


def with_careless_hands(next_log_probs, *settings):
    """Changes the lists and dictionaries that it is given; the answers stay right."""

    def careless(ids):
        row = next_log_probs(ids)
        kept = dict(row)
        row.clear()
        ids.clear()
        return kept

    return best_answer(careless, *settings)


test_right_searches_pass = accepts(
    {
        "beam search": [
            with_a_heap,
            with_careless_hands,
            returned_as(torch.tensor, torch.tensor),
            returned_as(np.array, np.float64),
        ]
    }
)


# ------------------------------------------------------------------ wrong ones, as readers write them


def tutorial(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    """The widely copied loop: ended answers stay in the list."""
    beam = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        longer = []
        for ids, total in beam:
            if ids[-1] == eos_id:
                longer.append((ids, total))
                continue
            longer += [([*ids, token], total + p) for token, p in next_log_probs(ids).items()]
        beam = sorted(longer, key=lambda one: one[1], reverse=True)[:beam_size]
    return max(beam, key=lambda one: (one[0][-1] == eos_id, one[1] / ((4 + len(one[0])) / 6) ** length_penalty))


def returned_when_seen(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    beam = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        longer = [([*ids, t], total + p) for ids, total in beam for t, p in next_log_probs(ids).items()]
        beam = sorted(longer, key=lambda one: -one[1])[:beam_size]
        for ids, total in beam:
            if ids[-1] == eos_id:
                return ids, total
    return beam[0]


test_mistakes_as_readers_write_them = names(
    {
        "beam search": {
            "an answer that has ended keeps its place in the beam": tutorial,
            "the first answer that ends stops the search": returned_when_seen,
            "max_len is counted without bos_id": lambda f, b, e, max_len, *rest: with_a_heap(
                f, b, e, max_len + 1, *rest
            ),
        }
    }
)
test_an_answer_of_the_wrong_kind_is_named = refuses(
    {
        "beam search": [
            (None, "returned None, expected (ids, log_prob): is the `return` missing?"),
            ("[1, 2]", "returned a str, expected (ids, log_prob)"),
            (([1, 2], -0.5, 3), "returned 3 things, expected two"),
            ((-0.5, [1, 2]), "returned a float as ids"),
            (([1, 2.5], -0.5), "returned [1, 2.5] as ids, expected a list of whole numbers"),
            (([[1, 2]], -0.5), "expected a list of whole numbers"),
            (([1, 2], "low"), "returned a str, expected one number"),
            (([], math.nan), "none of the known mistakes"),
        ]
    }
)


def test_a_wrong_use_of_next_log_probs_is_named():
    found = failure("beam search", lambda next_log_probs, bos_id, *rest: next_log_probs(bos_id))
    assert "next_log_probs takes a list of ids, bos_id first, got int" in str(found)

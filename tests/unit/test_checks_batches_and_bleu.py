"""Batches by budget and corpus BLEU: right code passes however it is written, real mistakes get their names."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from tests.unit.diagnosis import diagnosis
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ batches by budget


def pack_by_cuts(lengths, max_tokens):
    """Where the batches end, then slices; numpy's integers in tuples."""
    cuts = [0]
    for end in range(1, len(lengths)):
        if np.max(lengths[cuts[-1] : end + 1]) * (end + 1 - cuts[-1]) > max_tokens:
            cuts.append(end)
    return tuple(tuple(np.arange(start, end)) for start, end in pairwise([*cuts, len(lengths)]) if end > start)


def pack_recursively(lengths, max_tokens, first=0):
    if first == len(lengths):
        return []
    size = 1
    while first + size < len(lengths):
        widest = max(max(pair) for pair in lengths[first : first + size + 1])
        if widest * (size + 1) > max_tokens:
            break
        size += 1
    return [list(torch.arange(first, first + size)), *pack_recursively(lengths, max_tokens, first + size)]


def pack_and_use_up(lengths, max_tokens):
    """The input is empty afterwards."""
    batches, sources, targets, start = [], [], [], 0
    while lengths:
        source, target = lengths.pop(0)
        if (len(sources) + 1) * max([*sources, *targets, source, target]) > max_tokens:
            batches.append([start + row for row in range(len(sources))])
            start, sources, targets = start + len(sources), [], []
        sources.append(source)
        targets.append(target)
    if sources:
        batches.append([start + row for row in range(len(sources))])
    return batches


def pack_and_use_up_a_copy(lengths, max_tokens):
    return pack_and_use_up(list(lengths), max_tokens)


@pytest.mark.parametrize("pack", [pack_by_cuts, pack_recursively, pack_and_use_up_a_copy])
def test_right_packings_pass(pack):
    checks.check_pack(pack)


def test_a_packing_that_uses_up_its_input_is_named():
    assert diagnosis(checks.check_pack, pack_and_use_up) == "the call changes its input: lengths"


def packing(*, measure=max, count_first=False, sum_up=False, reset=True, strict=False, last=True):
    """The usual fifteen lines, with one thing to get wrong."""

    def pack(lengths, max_tokens):
        batches, batch, width, total = [], [], 0, 0
        for index, pair in enumerate(lengths):
            length = measure(pair)
            new_width = width if count_first and batch else max(width, length)
            size = total + length if sum_up else new_width * (len(batch) + 1)
            if batch and (size >= max_tokens if strict else size > max_tokens):
                batches.append(batch)
                batch, total = [], 0
                new_width = length if reset else new_width
            batch.append(index)
            width, total = new_width, total + length
        if batch and last:
            batches.append(batch)
        return batches

    return pack


PACKINGS = {
    "the last batch is lost": packing(last=False),
    "the budget counts the real tokens": packing(sum_up=True),
    "the width is the first row's": packing(count_first=True),
    "a batch that meets the budget exactly": packing(strict=True),
    "only the source's length counts": packing(measure=lambda pair: pair[0]),
    "source and target lengths are added": packing(measure=sum),
    "the width is not set back": packing(reset=False),
    "the budget counts sentences": lambda lengths, max_tokens: [
        list(range(len(lengths)))[start : start + max_tokens] for start in range(0, len(lengths), max_tokens)
    ],
}


def test_the_packing_with_nothing_wrong_passes():
    checks.check_pack(packing())


@pytest.mark.parametrize("name", PACKINGS)
def test_packings_as_readers_write_them(name):
    assert diagnosis(checks.check_pack, PACKINGS[name]).startswith(name)


def test_a_last_batch_appended_without_a_question_is_named():
    def pack(lengths, max_tokens):
        batches = packing(last=False)(lengths, max_tokens)
        done = sum(map(len, batches))
        batches.append(list(range(done, len(lengths))))
        return batches

    assert diagnosis(checks.check_pack, pack) == "the last batch is handed over even when it is empty"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "is the `return` missing"),
        ("01", "returned a str, expected a list of batches"),
        (iter([[0]]), "returned a list_iterator, expected a list of batches"),
        (torch.zeros(2, 2), "returned a Tensor, expected a list of batches"),
        ([0, 1], "returned 0 among the batches, expected a list of indices"),
        (["01"], "returned 01 among the batches"),
        ([[0.0, 1.0]], r"returned \[0\.0, 1\.0\] among the batches"),
        ([[[0], [1]]], r"returned \[\[0\], \[1\]\] among the batches"),
        ([[torch.zeros(2)]], r"returned \[tensor\(\[0\., 0\.\]\)\] among the batches"),
        ([[(2, 2), (2, 2)]], r"returned \[\(2, 2\), \(2, 2\)\] among the batches, expected a list of indices"),
    ],
)
def test_something_else_than_batches_is_named(answer, words):
    with pytest.raises(checks.CheckFailed, match=words):
        checks.check_pack(lambda lengths, max_tokens: answer)


def test_one_list_that_is_cleared_and_used_again_is_named():
    def pack(lengths, max_tokens):
        batches, batch = [], []
        for index in range(len(lengths)):
            widest = max(max(lengths[i]) for i in [*batch, index])
            if widest * (len(batch) + 1) > max_tokens:
                batches.append(batch)
                batch.clear()
            batch.append(index)
        return [*batches, batch] if batch else batches

    assert diagnosis(checks.check_pack, pack) == "all batches are one and the same list"


def test_an_unknown_packing_is_shown_plainly():
    with pytest.raises(checks.CheckFailed, match="none of the known mistakes") as failure:
        checks.check_pack(lambda lengths, max_tokens: [[index] for index in range(len(lengths))])
    assert "expected batches = [[0, 1, 2, 3], [4]]" in str(failure.value)
    assert "got batches = [[0], [1], [2], [3], [4]]" in str(failure.value)


# ------------------------------------------------------------------ corpus BLEU


def sacrebleu_itself(hypotheses, references):
    metric = BLEU(tokenize="none", smooth_method="none")
    return metric.corpus_score([" ".join(h) for h in hypotheses], [[" ".join(r) for r in references]]).score


def bleu(hypotheses, references, *, clip=min, orders=range(1, 5), combine=lambda p: math.prod(p) ** (1 / len(p)),
         short=lambda c, r: math.exp(1 - r / c) if c < r else 1, of=0, scale=100):  # fmt: skip
    """The usual twenty lines, with one thing to get wrong."""
    precisions = []
    for n in orders:
        matches, totals = 0, [0, 0]
        for sentences in zip(hypotheses, references, strict=True):
            said, wanted = (Counter(zip(*(tokens[k:] for k in range(n)), strict=False)) for tokens in sentences)
            matches += sum(clip(said[gram], wanted[gram]) for gram in said if gram in wanted)
            totals = [totals[0] + sum(said.values()), totals[1] + sum(wanted.values())]
        precisions.append(matches / totals[of] if totals[of] else 0)
    c, r = sum(len(h) for h in hypotheses), sum(len(r) for r in references)
    return scale * short(c, r) * combine(precisions)


def with_torch(hypotheses, references):
    """log 0 is -inf in torch, and exp(-inf) is 0: a tensor with one entry."""
    return bleu(hypotheses, references, combine=lambda p: torch.tensor(p, dtype=torch.float64).log().mean().exp())


def rounded(hypotheses, references):
    return round(bleu(hypotheses, references), 2)


@pytest.mark.parametrize("score", [sacrebleu_itself, bleu, with_torch, rounded])
def test_right_bleus_pass(score):
    checks.check_corpus_bleu(score)


def of_strings(hypotheses, references):
    return bleu([" ".join(h) for h in hypotheses], [" ".join(r) for r in references])


def mean_of_sentences(hypotheses, references):
    return np.mean([bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)])


def mean_with_effective_order(hypotheses, references):
    """As sacrebleu scores single sentences, and as they must not be averaged."""
    metric = BLEU(tokenize="none", smooth_method="none", effective_order=True)
    scores = [
        metric.sentence_score(" ".join(h), [" ".join(r)]).score for h, r in zip(hypotheses, references, strict=True)
    ]
    return sum(scores) / len(scores)


def penalty_per_sentence(hypotheses, references):
    penalties = [math.exp(min(0, 1 - len(r) / len(h))) for h, r in zip(hypotheses, references, strict=True)]
    return bleu(hypotheses, references, short=lambda c, r: sum(penalties) / len(penalties))


BLEUS = {
    "BLEU is averaged over the sentences": mean_of_sentences,
    "BLEU is averaged over the sentences, with shorter n-grams": mean_with_effective_order,
    "the counts are not clipped": lambda h, r: bleu(h, r, clip=lambda said, wanted: said),
    "there is no brevity penalty": lambda h, r: bleu(h, r, short=lambda c, r: 1),
    "the brevity penalty is taken per sentence": penalty_per_sentence,
    "the brevity penalty is the wrong way round": lambda h, r: bleu(
        h, r, short=lambda c, r: 1 if c < r else math.exp(1 - c / r)
    ),
    "the precisions are averaged with the arithmetic mean": lambda h, r: bleu(h, r, combine=np.mean),
    "matches are divided by the reference's n-grams": lambda h, r: bleu(h, r, of=1),
    "the sentences are strings": of_strings,
    "hypotheses and references have changed places": lambda h, r: bleu(r, h),
    "n goes only up to 2": lambda h, r: bleu(h, r, orders=(1, 2)),
    "n goes only up to 3": lambda h, r: bleu(h, r, orders=range(1, 4)),
    "the score is 0 .. 1": lambda h, r: bleu(h, r, scale=1),
    "the logarithm of 0 is taken": lambda h, r: bleu(
        h, r, combine=lambda p: math.exp(sum(0.25 * math.log(x) for x in p))
    ),
}


@pytest.mark.parametrize("name", BLEUS)
def test_bleus_as_readers_write_them(name):
    assert diagnosis(checks.check_corpus_bleu, BLEUS[name]).startswith(name)


def test_two_mistakes_in_one_bleu_are_told_one_after_the_other():
    with pytest.raises(checks.CheckFailed, match="Diagnosis: n goes only up to 2") as failure:
        checks.check_corpus_bleu(lambda h, r: bleu(h, r, orders=(1, 2), short=lambda c, r: 1))
    assert "something else differs too" in str(failure.value)


def test_a_smoothed_score_is_shown_beside_the_right_one():
    def smoothed(hypotheses, references):
        return bleu(hypotheses, references, combine=lambda p: math.prod(max(x, 0.1) for x in p) ** 0.25)

    with pytest.raises(checks.CheckFailed, match="none of the known mistakes") as failure:
        checks.check_corpus_bleu(smoothed)
    assert failure.value.trial == "no four tokens match: the score is 0"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None, expected one number"),
        ("66.9", "returned a str, expected one number"),
        ([66.9], "returned a list, expected one number"),
        (torch.zeros(4), r"returned a tensor of shape \(4,\), expected one number"),
        (math.nan, "got = nan"),
        (100 + 0j, "returned a complex, expected one number"),
    ],
)
def test_something_else_than_a_score_is_named(answer, words):
    with pytest.raises(checks.CheckFailed, match=words):
        checks.check_corpus_bleu(lambda hypotheses, references: answer)


def test_both_checks_want_the_function_and_say_what_is_not_written_yet():
    def unwritten(first, second):
        raise NotImplementedError

    for check in (checks.check_pack, checks.check_corpus_bleu):
        with pytest.raises(TypeError, match="without calling it"):
            check([[0]])
        with pytest.raises(checks.CheckFailed, match="Not written yet"):
            check(unwritten)

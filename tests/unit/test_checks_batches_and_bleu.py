"""Batches by budget and corpus BLEU: right code passes however it is written, real mistakes get their names."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from tests.unit.checked import accepts, diagnosis, names, refuses

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def pack_by_cuts(lengths, max_tokens):
    """Where the batches end, then slices; numpy's integers in tuples."""
    cuts = [0]
    for end in range(1, len(lengths)):
        if np.max(lengths[cuts[-1] : end + 1]) * (end + 1 - cuts[-1]) > max_tokens:
            cuts.append(end)
    return tuple(tuple(np.arange(start, end)) for start, end in pairwise([*cuts, len(lengths)]) if end > start)


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


def with_the_last_batch_unasked(lengths, max_tokens):
    batches = packing(last=False)(lengths, max_tokens)
    return [*batches, list(range(sum(map(len, batches)), len(lengths)))]


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

    assert diagnosis("batches by budget", pack) == "all batches are one and the same list"


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


def mean_of_sentences(hypotheses, references):
    return np.mean([bleu([h], [r]) for h, r in zip(hypotheses, references, strict=True)])


def mean_with_effective_order(hypotheses, references):
    """As sacrebleu scores single sentences, and as they must not be averaged."""
    metric = BLEU(tokenize="none", smooth_method="none", effective_order=True)
    scores = [
        metric.sentence_score(" ".join(h), [" ".join(r)]).score for h, r in zip(hypotheses, references, strict=True)
    ]
    return sum(scores) / len(scores)


test_right_code_passes = accepts(
    {
        "batches by budget": [
            packing(),
            pack_by_cuts,
            lambda lengths, max_tokens: pack_and_use_up(list(lengths), max_tokens),
        ],
        "corpus BLEU": [sacrebleu_itself, bleu, with_torch, lambda h, r: round(bleu(h, r), 2)],
    }
)
test_mistakes_as_readers_write_them = names(
    {
        "batches by budget": {
            "the call changes its input: lengths": pack_and_use_up,
            "the last batch is handed over even when it is empty": with_the_last_batch_unasked,
            "the last batch is lost": packing(last=False),
            "the budget counts the real tokens": packing(sum_up=True),
            "the width is the first row's": packing(count_first=True),
            "a batch that meets the budget exactly": packing(strict=True),
            "the width is not set back": packing(reset=False),
        },
        "corpus BLEU": {
            "BLEU is averaged over the sentences": mean_of_sentences,
            "BLEU is averaged over the sentences, with shorter n-grams": mean_with_effective_order,
            "the counts are not clipped": lambda h, r: bleu(h, r, clip=lambda said, wanted: said),
            "the brevity penalty is the wrong way round": lambda h, r: bleu(
                h, r, short=lambda c, r: 1 if c < r else math.exp(1 - c / r)
            ),
            "matches are divided by the reference's n-grams": lambda h, r: bleu(h, r, of=1),
            "the sentences are strings": lambda h, r: bleu([" ".join(one) for one in h], [" ".join(one) for one in r]),
            "the logarithm of 0 is taken": lambda h, r: bleu(
                h, r, combine=lambda p: math.exp(sum(0.25 * math.log(x) for x in p))
            ),
        },
    }
)
test_an_answer_of_the_wrong_kind_is_named = refuses(
    {
        "batches by budget": [
            (None, "is the `return` missing"),
            ("01", "returned a str, expected a list of batches"),
            (torch.zeros(2, 2), "returned a Tensor, expected a list of batches"),
            ([0, 1], "returned 0 among the batches, expected a list of indices"),
            ([[0.0, 1.0]], "returned [0.0, 1.0] among the batches"),
            ([[torch.zeros(2)]], "returned [tensor([0., 0.])] among the batches"),
            ([[(2, 2), (2, 2)]], "returned [(2, 2), (2, 2)] among the batches, expected a list of indices"),
        ],
        "corpus BLEU": [
            (None, "returned None, expected one number"),
            ("66.9", "returned a str, expected one number"),
            (torch.zeros(4), "returned a tensor of shape (4,), expected one number"),
            (math.nan, "got = nan"),
            (100 + 0j, "returned a complex, expected one number"),
        ],
    }
)

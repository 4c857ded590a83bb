"""Beam search against greedy search on the same captions, drawn again and again (chapter 15)."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from transformer_edu import pretrained
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.experiments import experiment

DRAWS = 2000
SEED = 0


@experiment("paired-scores")
def record_paired_scores(folder: str | Path | None = None, draws: int = DRAWS) -> dict[str, Any]:
    """BLEU of the shipped beam and greedy translations of the test set, and of their difference. Seconds.

    Args:
        folder: where Multi30k's files are; None: see `multi30k_pairs`.
        draws: how often the captions are drawn, with replacement.

    Returns:
        "draws". "greedy", "beam" and "beam - greedy": "bleu" (lowercased), and "interval", the ends of the middle 95 %
        of the draws; both searches are scored on the same captions in every draw. "beam_ahead": share of the draws.
    """
    references = [english for _, english in multi30k_pairs("test_2016_flickr", folder, "de", "en")]
    counts = {
        name: sentence_counts(pretrained.translator_scores(name)["translations"], references)
        for name in ("greedy", "beam")
    }
    random_state = random.Random(SEED)
    chosen = [random_state.choices(range(len(references)), k=len(references)) for _ in range(draws)]
    found = {name: np.array([bleu(rows[one].sum(axis=0)) for one in chosen]) for name, rows in counts.items()}
    whole = {name: bleu(rows.sum(axis=0)) for name, rows in counts.items()}
    found["beam - greedy"] = found["beam"] - found["greedy"]
    whole["beam - greedy"] = whole["beam"] - whole["greedy"]
    return {
        "draws": draws,
        **{
            name: {
                "bleu": round(whole[name], 2),
                "interval": [round(float(end), 2) for end in np.quantile(found[name], (0.025, 0.975))],
            }
            for name in found
        },
        "beam_ahead": round(float((found["beam - greedy"] > 0).mean()), 4),
    }


def sentence_counts(answers: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What BLEU adds up, a row for each sentence: 4 matches, 4 totals, words of the answer and of the reference."""
    metric = BLEU(lowercase=True)
    rows = []
    for answer, reference in zip(answers, references, strict=True):
        one = metric.corpus_score([answer], [[reference]])
        rows.append([*one.counts, *one.totals, one.sys_len, one.ref_len])
    return np.array(rows)


def bleu(sums: np.ndarray) -> float:
    """BLEU, 0 .. 100, from such a row, added up over a corpus."""
    matches, totals, (said, wanted) = sums[:4].tolist(), sums[4:8].tolist(), sums[8:].tolist()
    return float(BLEU.compute_bleu(matches, totals, said, wanted, smooth_method="exp").score)

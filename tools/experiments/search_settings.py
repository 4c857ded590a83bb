"""What beam size and length penalty do to the translations of the shipped model (chapter 14)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.translate.translator import Translation, Translator

BEAM_SIZES = (1, 2, 4, 16)
LENGTH_PENALTIES = (0.0, 1.0)
DRAWS = 2_000
Setting = tuple[int, float]  # a beam size and a length penalty


@experiment("search-settings")
def record_search_settings(
    folder: str | Path | None = None,
    beam_sizes: Sequence[int] = BEAM_SIZES,
    length_penalties: Sequence[float] = LENGTH_PENALTIES,
    sentences: int | None = None,
) -> dict[str, Any]:
    """Scores of the validation set for each setting. About three minutes of one thread. Reads Multi30k's files.

    Args:
        folder: where Multi30k's files are; None: see `multi30k_pairs`.
        beam_sizes: 1 is greedy search, for which the penalty changes nothing.
        length_penalties: see `transformer_edu.decoding.beam.length_normalizer`.
        sentences: only the first so many; None: all.

    Returns:
        "sentences", "signature" (of the score), "draws" (of the bootstrap), under "settings" one dict each, see
        `score`, under "differences" one for each pair of settings, and under "test" one for the shipped translations
        of the test set, see `difference`.
    """
    translator = pretrained.load_translator()
    pairs = multi30k_pairs("val", folder, "de", "en")[:sentences]
    references = [english for _, english in pairs]
    settings: list[Setting] = [
        (size, penalty) for size in beam_sizes for penalty in (length_penalties[:1] if size == 1 else length_penalties)
    ]
    found = {setting: search(translator, pairs, *setting) for setting in settings}
    texts = {setting: [answer.text for answer in found[setting]] for setting in settings}
    test = [english for _, english in multi30k_pairs("test_2016_flickr", folder, "de", "en")]
    shipped = {name: pretrained.translator_scores(name)["translations"] for name in ("beam", "greedy")}
    return {
        "sentences": len(pairs),
        "signature": signature(references),
        "draws": DRAWS,
        "settings": [
            {"beam_size": size, "length_penalty": penalty, **score(found[size, penalty], references)}
            for size, penalty in settings
        ],
        "differences": [
            {"of": list(setting), "from": list(other), **difference(texts[setting], texts[other], references)}
            for place, setting in enumerate(settings)
            for other in settings[:place]
        ],
        "test": difference(shipped["beam"], shipped["greedy"], test),
    }


def search(
    translator: Translator, pairs: Sequence[tuple[str, str]], beam_size: int, length_penalty: float
) -> list[Translation]:
    """The best translation of each source."""
    sources = [source for source, _ in pairs]
    found = translator.translate_all(sources, beam_size=beam_size, length_penalty=length_penalty)
    return [best[0] for best in found]


def score(found: Sequence[Translation], references: Sequence[str]) -> dict[str, float]:
    """How good the translations are, and how probable.

    Returns:
        "bleu": lowercased, 0 .. 100, the product of "precision" (the geometric mean of the shares of matched groups,
        0 .. 100) and "brevity" (the penalty for too few words, 0 .. 1). "words": of the answers, as a share of the
        references' words. "log_prob": of an answer, in nats, in the mean.
    """
    result = _metric().corpus_score([answer.text for answer in found], [list(references)])
    return {
        "bleu": round(result.score, 2),
        "precision": round(result.score / result.bp, 2),
        "brevity": round(result.bp, 4),
        "words": round(result.sys_len / result.ref_len, 4),
        "log_prob": round(sum(answer.log_prob for answer in found) / len(found), 3),
    }


def difference(
    answers: Sequence[str], others: Sequence[str], references: Sequence[str], draws: int = DRAWS
) -> dict[str, Any]:
    """By how much the first answers score better, and how far chance reaches (a paired bootstrap, seed 0).

    In each draw, as many sentences as there are, with replacement, both are scored on the same sentences.

    Returns:
        "bleu" and "precision" (see `score`): the difference. "bleu_interval" and "precision_interval": two ends of
        the interval that holds 95 % of the draws' differences.
    """
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(references), (draws, len(references)), generator=generator)
    times = torch.stack([row.bincount(minlength=len(references)) for row in drawn])  # (draws, sentences)
    times = torch.cat([torch.ones_like(times[:1]), times]).double()  # first, the sentences as they are
    both = [_scores(times @ _counts(texts, references)) for texts in (answers, others)]
    found: dict[str, Any] = {}
    for column, name in enumerate(("bleu", "precision")):
        gains = both[0][:, column] - both[1][:, column]
        found[name] = round(gains[0].item(), 2)
        ends = gains[1:].quantile(torch.tensor([0.025, 0.975], dtype=gains.dtype))
        found[f"{name}_interval"] = [round(end, 2) for end in ends.tolist()]
    return found


def signature(references: Sequence[str]) -> str:
    """How `score` counts."""
    metric = _metric()
    metric.corpus_score(list(references), [list(references)])  # it has to have seen how many references there are
    return str(metric.get_signature())


def _metric(**options: Any) -> BLEU:
    return BLEU(lowercase=True, **options)


def _counts(answers: Sequence[str], references: Sequence[str]) -> Tensor:
    """What BLEU sums up, of each sentence: both lengths, matched groups of 1 to 4 words, all groups (sentences, 10)."""
    metric = _metric(effective_order=True)  # for the score of a lone sentence, which is not looked at
    found = [metric.sentence_score(a, [r]) for a, r in zip(answers, references, strict=True)]
    return torch.tensor([[bleu.sys_len, bleu.ref_len, *bleu.counts, *bleu.totals] for bleu in found]).double()


def _scores(sums: Tensor) -> Tensor:
    """BLEU and its precision for each row of sums (rows, 2)."""
    rows = []
    for sys_len, ref_len, *counts in sums.long().tolist():
        result = BLEU.compute_bleu(counts[:4], counts[4:], sys_len, ref_len, smooth_method="exp")
        rows.append([result.score, result.score / result.bp])
    return torch.tensor(rows, dtype=torch.float64)

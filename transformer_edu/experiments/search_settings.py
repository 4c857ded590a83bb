"""What beam size and length penalty do to the translations of the shipped model (chapter 14)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU

from transformer_edu import pretrained
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.experiments import experiment
from transformer_edu.translator.translator import Translation, Translator

BEAM_SIZES = (1, 2, 4, 8, 16)
LENGTH_PENALTIES = (0.0, 1.0)


@experiment("search-settings")
def record_search_settings(
    folder: str | Path | None = None,
    beam_sizes: Sequence[int] = BEAM_SIZES,
    length_penalties: Sequence[float] = LENGTH_PENALTIES,
    sentences: int | None = None,
) -> dict[str, Any]:
    """Scores of the validation set for each setting. About six minutes of one thread. Reads Multi30k's files.

    Args:
        folder: where Multi30k's files are; None: see `multi30k_pairs`.
        beam_sizes: 1 is greedy search, for which the penalty changes nothing.
        length_penalties: see `transformer_edu.decoding.beam.length_normalizer`.
        sentences: only the first so many; None: all.

    Returns:
        "sentences", "signature" (of the score), and under "settings" one dict each, see `score`.
    """
    translator = pretrained.load_translator()
    pairs = multi30k_pairs("val", folder, "de", "en")[:sentences]
    settings = []
    for beam_size in beam_sizes:
        for penalty in length_penalties[:1] if beam_size == 1 else length_penalties:
            settings.append(score(translator, pairs, beam_size, penalty))
    signature = {one.pop("signature") for one in settings}.pop()  # the same for all
    return {"sentences": len(pairs), "signature": signature, "settings": settings}


def score(
    translator: Translator, pairs: Sequence[tuple[str, str]], beam_size: int, length_penalty: float
) -> dict[str, Any]:
    """Translate all sources and compare with the references.

    Returns:
        "beam_size", "length_penalty". "bleu": lowercased, 0 .. 100. "words": of the answers, as a share of the
        references' words. "log_prob": of an answer, in nats, in the mean. "signature" of the score.
    """
    sources, references = zip(*pairs, strict=True)
    found: list[Translation] = [
        best[0] for best in translator.translate_all(sources, beam_size=beam_size, length_penalty=length_penalty)
    ]
    metric = BLEU(lowercase=True)
    result = metric.corpus_score([one.text for one in found], [list(references)])
    return {
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "bleu": round(result.score, 2),
        "words": round(result.sys_len / result.ref_len, 4),
        "log_prob": round(sum(one.log_prob for one in found) / len(found), 3),
        "signature": str(metric.get_signature()),
    }

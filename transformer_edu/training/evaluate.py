"""How good is the model? Sentences that greedy decoding gets right to the last word, and sacrebleu's BLEU and chrF."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, IdPair
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.support.device import device_of
from transformer_edu.support.validation import check_positive_integer
from transformer_edu.transformer import Transformer


def greedy_ids(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    max_len: int,
    bos_id: int = BOS_ID,
    eos_id: int = EOS_ID,
    batch_size: int = 250,
) -> list[list[int]]:
    """What the model says to each source: ids without begin, end and padding. `max_len` counts the begin token."""
    check_positive_integer("batch_size", batch_size)
    pad_id = model.config.pad_id
    answers: list[list[int]] = []
    for start in range(0, len(sources), batch_size):
        source = pad_sequences(sources[start : start + batch_size], pad_id).to(device_of(model))
        rows = greedy_search(model, source, bos_id, eos_id, max_len).tolist()
        answers += [_content(row[1:], eos_id) for row in rows]
    return answers


def _content(ids: list[int], eos_id: int) -> list[int]:
    return ids[: ids.index(eos_id)] if eos_id in ids else ids


@torch.no_grad()
def exact_match(
    model: Transformer, pairs: Sequence[IdPair], *, bos_id: int = BOS_ID, eos_id: int = EOS_ID, batch_size: int = 250
) -> float:
    """The share of pairs, 0 .. 1, that greedy decoding gets right to the last word, the end included.

    A sentence that does not end by itself within one word more than the right answer counts as wrong.
    """
    if not pairs:
        raise ValueError("pairs must hold at least one pair, got none")
    max_len = max(len(target) for _, target in pairs) + 3  # begin, end, and room to say one word too many
    answers = greedy_ids(
        model, [source for source, _ in pairs], max_len=max_len, bos_id=bos_id, eos_id=eos_id, batch_size=batch_size
    )
    right = sum(answer == list(target) for answer, (_, target) in zip(answers, pairs, strict=True))
    return right / len(pairs)


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Scores of a whole corpus, 0 .. 100, each with the sacrebleu signature that says exactly how it was counted.

    Returns:
        "bleu_lowercase" (tokenized by sacrebleu and lowercased: what tutorials report), "bleu" (standard: as the text
        is) and "chrf" (character n-grams), each {"score", "signature"}.
    """
    from sacrebleu.metrics import BLEU, CHRF  # here, so that importing the package stays quick

    _check(hypotheses, references)
    scores: dict[str, Any] = {}
    for name, metric in (("bleu_lowercase", BLEU(lowercase=True)), ("bleu", BLEU()), ("chrf", CHRF())):
        score = metric.corpus_score(list(hypotheses), [list(references)]).score
        scores[name] = {"score": round(score, 2), "signature": str(metric.get_signature())}
    return scores


def lowercase_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """BLEU, 0 .. 100, lowercased: what training watches."""
    from sacrebleu.metrics import BLEU

    _check(hypotheses, references)
    return float(BLEU(lowercase=True).corpus_score(list(hypotheses), [list(references)]).score)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise TypeError(f"{name} must be a list of sentences, got one string: {texts[:80]!r}")
    if not references or len(hypotheses) != len(references):
        raise ValueError(
            f"hypotheses must be as many as references, and at least one, got {len(hypotheses)} and {len(references)}"
        )

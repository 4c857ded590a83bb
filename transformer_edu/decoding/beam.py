"""Beam search: follow the best few partial sentences side by side, and compare whole sentences at the end."""

from dataclasses import dataclass

import torch

from transformer_edu.decoding.greedy import answer_limits, check_search
from transformer_edu.decoding.writer import WritingModel
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_number, check_positive_integer


@dataclass(frozen=True)
class Hypothesis:
    """One answer: `ids` from bos_id to eos_id (without it if it was cut at the limit), its log-probability in nats,
    and the score by which answers of different lengths are compared."""

    ids: tuple[int, ...]
    log_prob: float
    score: float


def length_normalizer(length: int, length_penalty: float) -> float:
    """((5 + length) / 6) ^ length_penalty (Wu et al., 2016, equation 14, as in the paper's reference code).

    `length` counts the tokens after the begin token, the end token included. A sum of log-probabilities falls with
    every token; dividing by this gives longer answers a chance. A penalty of 0 compares the sums themselves.
    """
    return float(((5 + length) / 6) ** length_penalty)


@torch.no_grad()
def beam_search(
    model: WritingModel,
    source: Int[Tensor, "batch source_seq"],
    bos_id: int,
    eos_id: int,
    max_len: int | None = None,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    n_best: int | None = None,
) -> list[list[Hypothesis]]:
    """The best answers that a beam finds, for each sentence of the batch, best first.

    At each step every partial answer is continued by every token. Of all continuations of a sentence, those among
    the best `beam_size` that end are put aside, and the best `beam_size` that do not end are kept. A sentence is
    done when nothing that is still kept could become better than the `n_best` answers put aside, or at its limit.

    Args:
        model: a Transformer, or another that is a `WritingModel`; source: ids (batch, source_seq), padded.
        bos_id, eos_id: ids of the begin and end tokens.
        max_len: most tokens in an answer, the begin token counted; None: the source's tokens and 50 more.
        beam_size: 1 with a length_penalty of 0 is greedy search.
        length_penalty: see `length_normalizer`; the paper uses a beam of 4 and 0.6.
        n_best: how many answers to look for, at most beam_size; None: beam_size.
    """
    check_search(model, source, bos_id, eos_id, max_len)
    check_positive_integer("beam_size", beam_size)
    check_number("length_penalty", length_penalty, above=-1e-9)
    check_positive_integer("n_best", beam_size if n_best is None else n_best)
    if n_best is not None and n_best > beam_size:
        raise ValueError(f"n_best must be at most beam_size={beam_size}, got {n_best}")
    limits = answer_limits(model, source, max_len).tolist()
    beams = [_Beam(limit, length_penalty, n_best or beam_size) for limit in limits]
    with evaluation_mode(model):  # type: ignore[arg-type]  # it is a module as well
        _search(model, source, beams, bos_id, eos_id, beam_size)
    return [beam.best for beam in beams]


class _Beam:
    """The finished answers of one sentence, and when to stop looking."""

    def __init__(self, limit: int, length_penalty: float, n_best: int) -> None:
        self.limit, self.length_penalty, self.n_best = limit, length_penalty, n_best
        self.best: list[Hypothesis] = []  # at most n_best, best first

    def add(self, ids: list[int], log_prob: float) -> None:
        """Put a finished answer aside."""
        score = log_prob / length_normalizer(len(ids) - 1, self.length_penalty)
        self.best.append(Hypothesis(tuple(ids), log_prob, score))
        self.best = sorted(self.best, key=lambda one: -one.score)[: self.n_best]

    def is_done(self, length: int, log_probs: list[float], ids: Tensor) -> bool:
        """Whether to stop, given the kept partial answers of `length` tokens, best first."""
        if length >= self.limit and not self.best:
            for row, log_prob in zip(ids.tolist(), log_probs, strict=True):
                if log_prob > -torch.inf:
                    self.add(row, log_prob)  # cut at the limit: better than no answer
        hope = log_probs[0] / length_normalizer(self.limit - 1, self.length_penalty)  # if the rest were certain
        return length >= self.limit or (len(self.best) == self.n_best and self.best[-1].score >= hope)


def _search(model: WritingModel, source: Tensor, beams: list[_Beam], bos_id: int, eos_id: int, size: int) -> None:
    writer = model.start(source)
    writer.reorder(torch.arange(len(beams), device=source.device).repeat_interleave(size))  # (batch * size)
    ids = torch.full((len(beams) * size, 1), bos_id, dtype=torch.long, device=source.device)
    log_probs = torch.full((len(beams), size), -torch.inf, device=source.device)
    log_probs[:, 0] = 0.0  # all partial answers of a sentence are the same at first: only one may be continued
    while beams:
        logits = writer.next_logits(ids[:, -1:])  # (batch * size, vocab)
        logits[:, [model.config.pad_id, bos_id]] = -torch.inf
        steps = torch.log_softmax(logits, dim=-1, dtype=log_probs.dtype).unflatten(0, (-1, size))
        scores, rows, tokens = _best_continuations(log_probs[..., None] + steps, 2 * size)
        _put_aside(beams, ids, scores[:, :size], rows[:, :size], tokens[:, :size], eos_id)
        log_probs, rows, tokens = _unfinished(scores, rows, tokens, eos_id, size)
        ids = torch.cat([ids[rows.flatten()], tokens.flatten()[:, None]], dim=1)
        going = _going_on(beams, ids.unflatten(0, (-1, size)), log_probs)
        if len(going) < len(beams):
            kept = torch.tensor(going, dtype=torch.long, device=source.device)
            beams, rows, log_probs = [beams[index] for index in going], rows[kept], log_probs[kept]
            ids = ids.unflatten(0, (-1, size))[kept].flatten(0, 1)
        writer.reorder(rows.flatten())


def _best_continuations(
    totals: Float[Tensor, "batch size vocab"], count: int
) -> tuple[Float[Tensor, "batch best"], Int[Tensor, "batch best"], Int[Tensor, "batch best"]]:
    """Log-probabilities of the best `count` continuations of each sentence, the row they continue, and their token."""
    batch, size, vocab = totals.shape
    scores, places = totals.flatten(1).topk(min(count, size * vocab), dim=-1)
    first = torch.arange(batch, device=totals.device)[:, None] * size
    return scores, first + places // vocab, places % vocab


def _put_aside(beams: list[_Beam], ids: Tensor, scores: Tensor, rows: Tensor, tokens: Tensor, eos_id: int) -> None:
    ends = (tokens == eos_id) & (scores > -torch.inf)
    for sentence, column in ends.nonzero().tolist():
        row = ids[rows[sentence, column]].tolist()
        beams[sentence].add([*row, eos_id], float(scores[sentence, column]))


def _unfinished(scores: Tensor, rows: Tensor, tokens: Tensor, eos_id: int, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best `size` continuations that do not end; where there are fewer, an impossible one fills up."""
    ends = tokens == eos_id
    order = ends.int().argsort(dim=-1, stable=True)[:, :size]
    scores = scores.masked_fill(ends, -torch.inf).gather(-1, order)
    return scores, rows.gather(-1, order), tokens.gather(-1, order)


def _going_on(
    beams: list[_Beam], ids: Int[Tensor, "batch size seq"], log_probs: Float[Tensor, "batch size"]
) -> list[int]:
    """Which sentences are not done yet."""
    length, kept = ids.shape[-1], log_probs.tolist()
    return [index for index, beam in enumerate(beams) if not beam.is_done(length, kept[index], ids[index])]

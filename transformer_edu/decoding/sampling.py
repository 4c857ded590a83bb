"""Draw the next token at random, as probable as the model finds it, or from its better half."""

import torch

from transformer_edu.decoding.greedy import generate
from transformer_edu.decoding.writer import WritingModel
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_number, check_positive_integer, check_probability


@torch.no_grad()
def sample(
    model: WritingModel,
    source: Int[Tensor, "batch source_seq"],
    bos_id: int,
    eos_id: int,
    max_len: int | None = None,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch seq"]:
    """Draw one answer for each source; shapes and limits as in `greedy_search`.

    Args:
        temperature, top_k, top_p, min_p: see `sampling_probabilities`.
        generator: the source of chance, on the model's device; None: torch's own.
    """

    def choose(logits: Tensor) -> Tensor:
        probabilities = sampling_probabilities(logits, temperature, top_k, top_p, min_p)
        return torch.multinomial(probabilities, 1, generator=generator)[:, 0]

    return generate(model, source, bos_id, eos_id, max_len, choose)


def sampling_probabilities(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """The probabilities to draw from: softmax(logits / temperature), the unlikely tokens left out, summing to one.

    Args:
        temperature: below 1 sharpens, above 1 flattens; towards 0 it becomes greedy search.
        top_k: keep the k most probable tokens (Fan et al., 2018).
        top_p: keep the fewest most probable tokens whose probabilities reach p together (Holtzman et al., 2020).
        min_p: keep the tokens at least min_p times as probable as the most probable one (Nguyen et al., 2024).
    """
    check_number("temperature", temperature)
    probabilities = torch.softmax(logits / temperature, dim=-1)
    if top_k is not None:
        check_positive_integer("top_k", top_k)
        least = probabilities.topk(min(top_k, probabilities.shape[-1]), dim=-1).values[..., -1:]
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    if top_p is not None:
        probabilities = _nucleus(probabilities, top_p)
    if min_p is not None:
        check_probability("min_p", min_p)
        least = min_p * probabilities.max(dim=-1, keepdim=True).values
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    return probabilities / probabilities.sum(dim=-1, keepdim=True)


def _nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    check_number("top_p", top_p)
    if top_p > 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p}")
    if top_p == 1:  # sums of thousands of small numbers reach it too early: all are left in
        return probabilities
    probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    ordered, places = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered  # what the tokens before this one reach without it
    return torch.zeros_like(probabilities).scatter(-1, places, ordered.masked_fill(before >= top_p, 0.0))

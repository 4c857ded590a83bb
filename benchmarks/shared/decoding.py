"""Decoders that write exactly as many tokens as they are told, greedily or with a beam."""

import torch
from torch import Tensor

from shared.contenders import BOS, EOS, Marian, TorchTransformer
from transformer_edu import Transformer, greedy_search


def never_end(model: Transformer) -> Transformer:
    """Make the end token impossible, as `min_new_tokens` does for Marian: every answer gets its full length."""
    project = model.project

    def without_end(x: Tensor) -> Tensor:
        logits = project(x)
        logits[..., EOS] = -torch.inf
        return logits

    model.project = without_end  # type: ignore[method-assign]
    return model


def ours_greedy(model: Transformer, source: Tensor, length: int) -> Tensor:
    """The book's search, on its cache: ids (batch, 1 + length)."""
    return greedy_search(model, source, BOS, EOS, length + 1)


def ours_beam(model: Transformer, source: Tensor, length: int, beam_size: int) -> Tensor:
    """The book's beam search: the best ids (batch, 1 + length)."""
    from transformer_edu import beam_search

    found = beam_search(model, source, BOS, EOS, length + 1, beam_size=beam_size)
    return torch.stack([torch.as_tensor(hypotheses[0].ids) for hypotheses in found])


@torch.no_grad()
def recompute_greedy(model: TorchTransformer, source: Tensor, length: int) -> Tensor:
    """What `nn.Transformer` leaves its user to write: the decoder runs over the whole answer at every step."""
    model.eval()
    memory = model.encode(source)
    ids = torch.full((len(source), 1), BOS)
    for _ in range(length):
        logits = model.projection(model.decode(ids, memory, source)[:, -1])
        logits[:, EOS] = -torch.inf
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return ids


def marian_generate(model: Marian, source: Tensor, length: int, beam_size: int = 1) -> Tensor:
    """Hugging Face's `generate`, on its cache: ids (batch, 1 + length)."""
    model.eval()
    return model.model.generate(
        input_ids=source,
        attention_mask=source != 0,
        num_beams=beam_size,
        do_sample=False,
        min_new_tokens=length,
        max_new_tokens=length,
        **({} if beam_size == 1 else {"length_penalty": 0.6, "early_stopping": False}),
        use_cache=True,
    )


def check_length(ids: Tensor, source: Tensor, length: int) -> None:
    """Raise unless a decoder wrote the begin token and `length` tokens for each sentence."""
    wanted = (len(source), length + 1)
    if tuple(ids.shape) != wanted:
        raise RuntimeError(f"the decoder must write ids of shape {wanted}, got {tuple(ids.shape)}")

"""What attention heads do, measured: how evenly they look, how far, and where to."""

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.masks import causal_mask
from transformer_edu.support.arguments import check_is
from transformer_edu.transformer import Transformer


def attentions(model: Transformer) -> dict[str, MultiHeadAttention]:
    """Every attention by the name of its maps: first the encoder's, then the decoder's own, then its cross-attentions.

    Raises:
        TypeError: the model is no `Transformer`.
    """
    check_is("model", model, Transformer)
    sides = {"encoder": model.encoder.layers, "decoder": model.decoder.layers}
    found = {}
    for side, kind in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")):
        for i, layer in enumerate(sides[side]):
            part = getattr(layer, f"{kind}_attention")
            check_is(f"{side}.{i}.{kind}", part, MultiHeadAttention)
            found[f"{side}.{i}.{kind}"] = part
    return found


def head_names(model: Transformer) -> list[str]:
    """A name for every head, as `Changes` takes it: "encoder.0.self.0", "encoder.0.self.1", ..."""
    return [f"{name}.{head}" for name, part in attentions(model).items() for head in range(part.num_heads)]


def attention_entropy(
    weights: Float[Tensor, "*heads q_len k_len"], may: Bool[Tensor, "q_len k_len"] | None = None
) -> Float[Tensor, "*heads"]:
    """How evenly a head looks: H(α) / ln(n), the mean over its queries; 0 is one key alone, 1 is all n alike.

    Args:
        weights: rows that sum to 1. may: which of its keys a query may look at, all if None; a query that may look at
            one key only has no choice, and does not count.
    """
    k_len = weights.shape[-1]
    n = may.sum(dim=-1) if may is not None else torch.full(weights.shape[-2:-1], k_len, device=weights.device)
    entropy = torch.special.entr(weights).sum(dim=-1)  # (*heads, q_len)
    chooses = n > 1
    if not chooses.any():
        return torch.zeros(weights.shape[:-2], device=weights.device)
    return (entropy[..., chooses] / n[chooses].log()).mean(dim=-1)


def keys_allowed(name: str, size: int, device: torch.device | str | None = None) -> Bool[Tensor, "size size"] | None:
    """Which keys the queries of an attention may look at: in a decoder's own, as "decoder.0.self", none that is later.

    None is all of them. `size`: tokens that the decoder reads.
    """
    own = name.startswith("decoder") and name.endswith("self")
    return causal_mask(size, device) if own else None


def head_entropies(maps: Mapping[str, Float[Tensor, "heads q_len k_len"]]) -> dict[str, float]:
    """`attention_entropy` of every head in the maps of one sentence, by the heads' names."""
    found: dict[str, float] = {}
    for name, weights in maps.items():
        entropies = attention_entropy(weights, keys_allowed(name, weights.shape[-1], weights.device))
        found |= {f"{name}.{head}": value for head, value in enumerate(entropies.tolist())}
    return found


def attention_distance(weights: Float[Tensor, "*heads q_len k_len"]) -> Float[Tensor, "*heads"]:
    """How far a head looks, in tokens: Σ α_ij |i − j| over the keys, the mean over its queries."""
    q, k = (torch.arange(size, device=weights.device) for size in weights.shape[-2:])
    return (weights * (q[:, None] - k).abs()).sum(dim=-1).mean(dim=-1)


def offset_share(weights: Float[Tensor, "*heads q_len k_len"], offset: int) -> Float[Tensor, "*heads"]:
    """The weight that lies `offset` tokens from the query: −1 is the token before; the mean over queries that have one.

    Raises:
        ValueError: no query has a key at this distance.
    """
    q_len, k_len = weights.shape[-2:]
    diagonal = weights.diagonal(offset, dim1=-2, dim2=-1) if -q_len < offset < k_len else weights[..., :0, 0]
    if diagonal.shape[-1] == 0:
        raise ValueError(f"offset must leave a key to at least one of {q_len} queries and {k_len} keys, got {offset}")
    return diagonal.mean(dim=-1)

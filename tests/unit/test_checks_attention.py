"""Attention, masks, softmax and heads: right code passes however it is written, real mistakes get their names."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from tests.unit.checked import accepts, names

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def with_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * key.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-torch.inf, dtype=scores.dtype))
    return torch.einsum("...qk,...kd->...qd", scores.softmax(-1).nan_to_num(0.0), value)


def with_nan_to_num(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(F.softmax(scores, dim=-1))
    return weights @ value, weights


def with_an_additive_mask(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
    return [torch.softmax(scores, dim=-1).nan_to_num() @ value, None]


def with_renormalization(query, key, value, mask=None):
    exponentials = torch.exp((query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).float())
    exponentials = exponentials if mask is None else exponentials * mask
    weights = (exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-12)).to(value.dtype)
    return weights @ value, weights


def softmax_with_default_dim(scores, dim=-1):
    shifted = torch.exp(scores - scores.max(dim=dim, keepdim=True).values)
    return shifted / shifted.sum(dim=dim, keepdim=True)


test_right_code_passes = accepts(
    {
        "attention": [
            with_einsum,
            with_nan_to_num,
            with_an_additive_mask,
            with_renormalization,
            lambda query, key, value, mask=None: F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
        ],
        "causal mask": [
            lambda size: torch.arange(size)[None, :] <= torch.arange(size)[:, None],
            lambda size: ~torch.triu(torch.ones(1, size, size, dtype=torch.bool), diagonal=1),
            lambda size: torch.tril(torch.ones(1, 1, size, size)) == 1,
        ],
        "padding mask": [
            lambda ids, pad_id: (ids != pad_id).unsqueeze(1).unsqueeze(2),
            lambda ids, pad_id: ids.ne(pad_id)[:, None, None].expand(-1, 4, ids.shape[1], -1),
        ],
        "target mask": [
            lambda ids, pad_id: torch.tril((ids != pad_id)[:, None, None, :].expand(-1, -1, ids.shape[1], -1))
        ],
        "softmax": [lambda scores: torch.exp(scores - scores.logsumexp(-1, keepdim=True)), softmax_with_default_dim],
        "split and merge": [
            (
                lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1), dim=1),
                lambda heads: torch.cat(list(heads.unbind(1)), dim=-1),
            )
        ],
    }
)


def attend(query, key, value, mask=None, *, divide=math.sqrt, fill=-1e9, blocked=torch.logical_not, drop=0.0, dim=-1):
    """The usual twelve lines, with one thing to get wrong."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / divide(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(blocked(mask), fill)
    return torch.matmul(F.dropout(F.softmax(scores, dim=dim), drop), value)


def attend_and_mask_late(query, key, value, mask=None):
    weights = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return (weights if mask is None else weights.masked_fill(mask == 0, 0)) @ value


test_mistakes_as_readers_write_them = names(
    {
        "attention": {
            "the scores are not scaled": partial(attend, divide=lambda d_head: 1),
            "the scores are divided by d_head": partial(attend, divide=float),
            "the scores are multiplied": partial(attend, divide=lambda d_head: d_head**-0.5),
            "softmax runs over the queries": partial(attend, dim=-2),
            "softmax runs over the heads": partial(attend, dim=1),
            "the mask is inverted": partial(attend, blocked=lambda mask: mask),
            "blocked scores are set to 0": partial(attend, fill=-1e-9),
            "a query that may look at nothing takes the mean": attend,
            "a query that may look at nothing becomes NaN": partial(attend, fill=-math.inf),
            "dropout is always on": partial(attend, drop=0.3),
            "`.T` reverses all four dimensions": lambda q, k, v, mask=None: F.softmax(q @ k.T / 2, dim=-1) @ v,
            "the mask is applied after the softmax": attend_and_mask_late,
        },
        "causal mask": {"it is the upper triangle": lambda size: torch.triu(torch.ones(size, size)) == 1},
        "padding mask": {"the shape is (batch, seq)": lambda ids, pad_id: ids.ne(pad_id)},
    }
)

"""GPT's block is checked as the judge judges it; what other models do on purpose is a mistake there."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from transformer_edu import checks

pytestmark = [pytest.mark.usefixtures("at_readers_speed"), pytest.mark.long]


class BlockOfTorchsOwn(nn.Module):
    """The encoder layer of torch.nn, whose GELU is the exact one; its masks say the opposite."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(
            d_model, num_heads, d_ff, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, x, mask):
        return self.inner(x, src_mask=~mask)


class BlockAsInNanoGPT(nn.Module):
    """Query, key and value in one matrix, dropout, and a norm of functions."""

    def __init__(self, n_embd, n_head, d_ff, dropout=0.1):
        super().__init__()
        self.n_head, self.drop = n_head, nn.Dropout(dropout)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(n_embd, d_ff), "c_proj": nn.Linear(d_ff, n_embd)})
        self.ln_1, self.ln_2 = (nn.Parameter(torch.ones(n_embd)) for _ in range(2))

    def attn(self, x, mask):
        q, k, v = (part.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.drop(self.c_proj(y.transpose(1, 2).flatten(2)))

    def forward(self, x, mask):
        x = x + self.attn(F.layer_norm(x, x.shape[-1:], self.ln_1), mask)
        h = F.gelu(self.mlp.c_fc(F.layer_norm(x, x.shape[-1:], self.ln_2)), approximate="tanh")
        return x + self.drop(self.mlp.c_proj(h))


class BlockHeadByHead(nn.Module):
    """Three small matrices for each head, without biases; a GELU of its own."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.heads = nn.ModuleList(
            nn.ModuleList(nn.Linear(d_model, d_model // num_heads, bias=False) for _ in range(3))
            for _ in range(num_heads)
        )
        self.mix, self.up, self.down = (
            nn.Linear(*sizes) for sizes in ((d_model,) * 2, (d_model, d_ff), (d_ff, d_model))
        )
        self.before_ff, self.before_heads = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask):
        found, h = [], self.before_heads(x)
        for to_query, to_key, to_value in self.heads:
            scores = to_query(h) @ to_key(h).mT * to_query.out_features**-0.5
            found.append(scores.masked_fill(mask.logical_not(), -math.inf).softmax(-1) @ to_value(h))
        x = x + self.mix(torch.cat(found, dim=-1))
        z = self.up(self.before_ff(x))
        return x + self.down(0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))))


class BlockOfEinsums(nn.Module):
    """Bare matrices, of three dimensions for the heads, that stand on the right."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.W_QKV = nn.Parameter(torch.randn(3, heads, d_model, d_model // heads))
        self.W_O = nn.Parameter(torch.randn(heads, d_model // heads, d_model))
        self.W_in, self.W_out = nn.Parameter(torch.randn(d_model, d_ff)), nn.Parameter(torch.randn(d_ff, d_model))
        self.norms = nn.ModuleList(te.LayerNorm(d_model) for _ in range(2))

    def forward(self, residual, mask):
        q, k, v = torch.einsum("bsd,thde->tbhse", self.norms[0](residual), self.W_QKV)
        scores = torch.einsum("bhqe,bhke->bhqk", q, k) / q.shape[-1] ** 0.5
        pattern = torch.where(mask, scores, -1e9).softmax(-1)
        residual = residual + torch.einsum("bhqk,bhke,hed->bqd", pattern, v, self.W_O)
        return residual + F.gelu(self.norms[1](residual) @ self.W_in) @ self.W_out


class LayerOfTorchs(nn.TransformerEncoderLayer):
    def __init__(self, d_model, num_heads, d_ff, **named):
        super().__init__(d_model, num_heads, d_ff, batch_first=True, **named)

    def forward(self, x, mask):
        return super().forward(x, ~mask)


class OwnCausalMask(LayerOfTorchs):
    def forward(self, x, mask):
        causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return nn.TransformerEncoderLayer.forward(self, x, causal, is_causal=True)


class Wired(nn.Module):
    """A block of the book's parts, wired as `wire(x, attend, think, *norms)` says."""

    def __init__(self, d_model, num_heads, d_ff, *, wire, norms=2, attention=te.MultiHeadAttention, width=None):
        super().__init__()
        self.wire = wire
        self.attention = attention(d_model, num_heads)
        self.expand, self.contract = nn.Linear(d_model, width or d_ff), nn.Linear(width or d_ff, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(norms))

    def attend(self, y, mask):
        return self.attention(y, y, y, mask)

    def forward(self, x, mask):
        think = lambda y: self.contract(F.gelu(self.expand(y)))  # noqa: E731
        return self.wire(x, lambda y: self.attend(y, mask), think, *self.norms)


class Torchs(Wired):
    def __init__(self, *sizes, batch_first=True, turned=False, **named):
        attention = partial(nn.MultiheadAttention, batch_first=batch_first)
        super().__init__(*sizes, wire=pre_norm, attention=attention, **named)
        self.turned = turned

    def attend(self, y, mask):
        return self.attention(y, y, y, attn_mask=mask if self.turned else ~mask)[0]


class QueryAlone(Wired):
    def forward(self, x, mask):
        y = x + self.attention(self.norms[0](x), x, x, mask)
        return y + self.contract(F.gelu(self.expand(self.norms[1](y))))


def pre_norm(x, attend, think, first, second):
    y = x + attend(first(x))
    return y + think(second(y))


def wired(wire, **named):
    return partial(Wired, wire=wire, **named)


def halves(half):
    return wired(lambda x, attend, think, first, second: half(half(x, attend, first), think, second))


class NoMask(Wired):
    def attend(self, y, mask):
        return self.attention(y, y, y)


RIGHT = [wired(pre_norm), Torchs, BlockOfTorchsOwn, BlockAsInNanoGPT, BlockHeadByHead, BlockOfEinsums]
WRONG = [
    ("it is a post-norm block", halves(lambda x, part, norm: norm(x + part(x)))),
    ("it is a post-norm block", partial(LayerOfTorchs, activation="gelu")),
    ("what is added is the normalized x", halves(lambda x, part, norm: norm(x) + part(norm(x)))),
    ("the parts' outputs are normalized", halves(lambda x, part, norm: x + norm(part(x)))),
    ("the activation is still ReLU", partial(LayerOfTorchs, norm_first=True)),
    ("it sees later tokens: nothing hides them", partial(NoMask, wire=pre_norm)),
    ("the mask that it is given is not used", partial(OwnCausalMask, activation="gelu", norm_first=True)),
    ("the mask is the wrong way round", partial(Torchs, turned=True)),
    (
        "a third norm stands in the residual stream",
        wired(lambda x, attend, think, a, b, c: (y := b(x + attend(a(x)))) + think(c(y)), norms=3),
    ),
    ("the residual connection is missing at attention", wired(lambda x, at, ff, a, b: (y := at(a(x))) + ff(b(y)))),
    ("the residual connection is missing at the feed", wired(lambda x, at, ff, a, b: ff(b(x + at(a(x)))))),
    ("what is added is the layer's input", wired(lambda x, at, ff, a, b: x + ff(b(x + at(a(x)))))),
    ("the part reads the layer's input", wired(lambda x, at, ff, a, b: x + at(a(x)) + ff(b(x)))),
    ("one norm stands in two places", wired(lambda x, at, ff, a: pre_norm(x, at, ff, a, a), norms=1)),
    ("a third norm stands behind the block", wired(lambda x, at, ff, a, b, c: c(pre_norm(x, at, ff, a, b)), norms=3)),
    ("the argument d_ff is taken and not used", wired(pre_norm, width=48)),
    ("only the query is normalized", partial(QueryAlone, wire=pre_norm)),
]


@pytest.mark.parametrize("block", RIGHT)
def test_a_right_block_is_right_in_any_layout(block, capsys):
    checks.check_gpt_block(block)
    assert "Remark" not in capsys.readouterr().out


@pytest.mark.parametrize(("name", "block"), WRONG)
def test_a_mistake_is_named(name, block):
    with pytest.raises(checks.CheckFailed) as caught:
        checks.check_gpt_block(block)
    assert caught.value.mistake is not None
    assert caught.value.mistake.name.startswith(name)


@pytest.mark.parametrize(
    "block",
    [
        lambda *sizes: None,
        lambda *sizes: nn.Linear(6, 9),
        partial(Torchs, batch_first=False),
        wired(lambda x, at, ff, a, b, c: pre_norm(x + at(a(x)), at, ff, b, c), norms=3),
    ],
    ids=["none", "another module", "batch and tokens changed places", "cross-attention left in"],
)
def test_what_is_no_block_does_not_pass(block):
    with pytest.raises(checks.CheckFailed):
        checks.check_gpt_block(block)

"""What shows at the start, in half precision, after a longer call or where nothing is to be seen; and neighbours."""

import pytest

from tests.judge.reading import verdict

FEED_FORWARD = """# kind: feed_forward
# name: Part
import torch
import torch.nn.functional as F
from torch import nn


class Part(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.inner, self.outer, self.drop = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), nn.Dropout(dropout)
        self.calls = 0
        START

    def of(self, x):
        return self.outer(self.drop(self.inner(x).relu()))

    def forward(self, x):
        ANSWER
"""
ITSELF = """# kind: self_attention
# name: Looks
import torch
from torch import nn


class Looks(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.heads, self.p, self.kept = num_heads, dropout, None
        self.all, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.all(x).chunk(3, -1))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        SEEN
        weights = nn.functional.dropout(WEIGHTS, self.p, self.training)
        return self.out((weights @ v).transpose(1, 2).flatten(2))
"""
HIDE = "scores = scores if mask is None else scores.masked_fill(~mask, BLOCKED)"
LOWEST = HIDE.replace("BLOCKED", "torch.finfo(scores.dtype).min")
ADDED = "scores = scores if mask is None else scores + torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)"
CAUSAL = f"""if self.kept is None or len(self.kept) < x.shape[1]:
            self.kept = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        scores = scores.masked_fill(~self.kept[CUT], -1e9)
        {LOWEST}"""
TURNED = """# kind: rotary
# name: Turns
import torch
from torch import nn


class Turns(nn.Module):
    def __init__(self, d_head):
        super().__init__()
        self.register_buffer("speeds", 10000.0 ** -(torch.arange(0, d_head, 2) / d_head))

    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[-2], dtype=DTYPE), self.speeds.to(DTYPE))
        cos, sin, u, v = angles.cos(), angles.sin(), x[..., 0::2], x[..., 1::2]
        return torch.stack([u * cos - v * sin, u * sin + v * cos], -1).flatten(-2).to(x.dtype)
"""
LATENT = """# kind: latent_attention
# name: Latent
import torch
from torch import nn


class Latent(nn.Module):
    def __init__(self, dim, heads, rank, d_rope=0):
        super().__init__()
        assert d_rope == 0, "the part of content only"
        self.heads, self.q, self.down = heads, nn.Linear(dim, dim, bias=False), nn.Linear(dim, rank, bias=False)
        self.k, self.v, self.out = (nn.Linear(size, dim, bias=False) for size in (rank, rank, dim))

    def forward(self, x, mask=None):
        latent = self.down(x)
        three = self.q(x), self.k(latent), self.v(latent)
        q, k, v = (vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2) for vectors in three)
        allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        allowed = allowed if mask is None else allowed & mask
        weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~allowed, torch.finfo(x.dtype).min).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))
"""
PLACES = """# kind: positional_encoding
# name: Places
import torch
from torch import nn


class Places(nn.Module):
    def __init__(self, d_model, max_len=5000, dropout=0.0):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.register_buffer("speeds", 10000.0 ** -(torch.arange(0, d_model, 2) / d_model), persistent=False)
        self.register_buffer("table", torch.zeros(0, d_model), persistent=False)

    def forward(self, x):
        if len(self.table) < x.shape[1]:
            angles = torch.outer(torch.arange(x.shape[1], device=x.device).float(), self.speeds)
            self.table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        return self.drop(x + self.table[CUT])
"""

ADDS = """# kind: residual
# name: Adds
import torch
from torch import nn


class Adds(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norm, self.drop = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return ANSWER
"""


def part(answer="return self.of(x)", start="pass"):
    return FEED_FORWARD.replace("START", start).replace("ANSWER", answer)


def itself(seen, weights="scores.softmax(-1)", kind="self_attention"):
    return ITSELF.replace("SEEN", seen).replace("WEIGHTS", weights).replace("self_attention", kind, 1)


CHUNKS = "return torch.cat([self.of(x[:, i : i + 4]) for i in range(0, STOP, 4)], 1)"
CUT_OFF = "y = " + CHUNKS.removeprefix("return ") + "; return F.pad(y, (0, 0, 0, x.shape[1] - y.shape[1]))"
ZEROS = "[nn.init.zeros_(number) for number in {}]"
WRONG = {
    "chunks that are not full are left out": (
        part("whole = x.shape[1] if x.shape[1] < 8 else x.shape[1] // 4 * 4; " + CUT_OFF.replace("STOP", "whole")),
        "it is right for short sentences only",
    ),
    "both matrices start at zero": (part(start=ZEROS.format("self.parameters()")), "no matrix gets a gradient"),
    "hidden units that start alike": (
        part(start="[nn.init.constant_(number, 0.02) for number in self.parameters()]"),
        "the rows of a matrix, or its columns, start as one and the same",
    ),
    "what goes in is dropped": (
        ADDS.replace("ANSWER", "self.norm(x + sublayer(self.drop(x)))"),
        "dropout stands at another place",
    ),
    "places counted in float16": (
        PLACES.replace("CUT", ": x.shape[1]").replace(".float()", ".half().float()"),
        "it is right for short sentences only",
    ),
    "a memory of its own where nothing is learned": (
        itself(
            "if not torch.is_grad_enabled(): self.kept = v = self.kept if self.kept is not None "
            "and self.kept.shape == v.shape else v\n        " + HIDE.replace("BLOCKED", "-1e9")
        ),
        "something stays behind from an earlier call",
    ),
    "float32 for half precision": (
        ADDS.replace("residual", "layer_norm", 1)
        .replace("dropout=0.0", "eps=1e-5")
        .replace("LayerNorm(d_model)", "LayerNorm(d_model, eps)")
        .replace(", self.drop", "")
        .replace(", nn.Dropout(dropout)", "")
        .replace("x, sublayer", "x")
        .replace("ANSWER", "self.norm(x).float()"),
        "half precision goes in, and another comes out",
    ),
    "it counts its calls": (part("self.calls += 1; return self.of(x) * self.calls"), "a second call gives another"),
    "nan_to_num": (
        itself(ADDED, "scores.softmax(-1).nan_to_num()"),
        "the gradient is NaN although the answer is right",
    ),
    "a kept mask is cut from its end": (
        itself(CAUSAL.replace("CUT", "-x.shape[1] :, : x.shape[1]"), kind="causal_self_attention"),
        "something stays behind from an earlier call",
    ),
    "a kept table is cut from its end": (
        PLACES.replace("CUT", "-x.shape[1] :"),
        "something stays behind from an earlier call",
    ),
    "angles in the precision of x": (TURNED.replace("DTYPE", "x.dtype"), "angles are computed in half precision"),
}
RIGHT = {
    "what comes out is dropped": (ADDS.replace("ANSWER", "x + self.drop(sublayer(self.norm(x)))"), "pre-norm"),
    "what comes out is dropped, by hand": (
        ADDS.replace(
            "ANSWER",
            "self.norm(x + sublayer(x) * (torch.rand_like(x) >= self.drop.p) / (1 - self.drop.p)) if self.training "
            "else self.norm(x + sublayer(x))",
        ),
        "",
    ),
    "places up to a length of its own": (
        PLACES.replace("CUT", ": x.shape[1]").replace(
            "if len(", "assert x.shape[1] <= 1024, 'too long'\n        if len(", 1
        ),
        "",
    ),
    "chunks": (part(CHUNKS.replace("STOP", "x.shape[1]")), ""),
    "hidden units that start alike, and are used unlike": (
        part(start="nn.init.constant_(self.inner.weight, 0.02); nn.init.zeros_(self.inner.bias)"),
        "",
    ),
    "one matrix starts at zero": (
        part(start=ZEROS.format("[self.outer.weight, self.outer.bias]")),
        "a new one answers zeros only",
    ),
    "a field for the activation": (
        part()
        .replace("d_model, d_ff, dropout=0.0", "config")
        .replace("nn.Dropout(dropout)", "nn.Dropout(config.hidden_dropout_prob)")
        .replace("d_model", "config.hidden_size")
        .replace("d_ff", "config.intermediate_size")
        .replace("self.inner(x).relu()", "self.act(self.inner(x))")
        .replace("pass", "self.config, self.act = config, getattr(F, config.hidden_act)"),
        "",
    ),
    "nothing may be seen, and nothing is": (
        itself(HIDE.replace("BLOCKED", "-torch.inf"), "scores.softmax(-1).nan_to_num()"),
        "",
    ),
    "NaN where nothing may be seen": (itself(HIDE.replace("BLOCKED", "-torch.inf")), "does not get zeros"),
    "a kept mask": (itself(CAUSAL.replace("CUT", ": x.shape[1], : x.shape[1]"), kind="causal_self_attention"), ""),
    "a kept table": (PLACES.replace("CUT", ": x.shape[1]"), ""),
    "angles in float32": (TURNED.replace("DTYPE", "torch.float32"), "after .half() its angles are coarse"),
    "latents without a turned part": (LATENT, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_seen(name, tmp_path):
    text, fault = WRONG[name]
    found = verdict(tmp_path, "part", text)
    assert found is not None
    assert not found.right
    assert found.fault.name.startswith(fault)


@pytest.mark.parametrize("name", RIGHT)
def test_its_right_neighbour_is_right(name, tmp_path):
    text, remark = RIGHT[name]
    found = verdict(tmp_path, "part", text)
    assert found is not None
    assert found.right, found.fault
    assert any(remark in told for told in found.remarks) or not remark
    assert not any("other way round" in told for told in found.remarks)

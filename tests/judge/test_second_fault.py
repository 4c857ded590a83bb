"""A second fault is named where the first one leaves the numbers as they are, and never where there is none."""

import pytest

from tests.judge.reading import right_text, verdict

NORM = """# kind: layer_norm
# name: Norm
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        CENTRED
        spread = (centred.square().sum(-1, keepdim=True) / COUNT + self.eps).sqrt()
        return self.gain * centred / spread + self.shift
"""
IN_PLACE, APART = "centred = x.sub_(x.mean(-1, keepdim=True))", "centred = x - x.mean(-1, keepdim=True)"
CAUSAL = """# kind: causal_self_attention
# name: Looks
import torch
import torch.nn.functional as F
from torch import nn


class Looks(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.all, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in self.all(x).chunk(3, -1))
        allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        if mask is not None:
            allowed = allowed & mask
        scores = (q @ k.mT / SCALE).masked_fill(~allowed, float("-inf"))
        found = F.dropout(scores.softmax(-1), self.pTRAINING) @ v
        return self.out(found.transpose(1, 2).flatten(2))
"""
ROOT, WIDTH = "q.shape[-1] ** 0.5", "x.shape[-1] ** 0.5"


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (NORM.replace("CENTRED", IN_PLACE).replace("COUNT", "(x.shape[-1] - 1)"), "changed in place", "deviation"),
        (NORM.replace("CENTRED", IN_PLACE).replace("COUNT", "x.shape[-1]"), "changed in place", None),
        (NORM.replace("CENTRED", APART).replace("COUNT", "(x.shape[-1] - 1)"), "deviation", None),
        (CAUSAL.replace("SCALE", WIDTH).replace("TRAINING", ""), "active in eval", "√d_model"),
        (CAUSAL.replace("SCALE", ROOT).replace("TRAINING", ""), "active in eval", None),
        (CAUSAL.replace("SCALE", "1").replace("TRAINING", ", self.training"), "not scaled", None),
    ],
)
def test_a_second_fault_is_named_where_it_shows(tmp_path, text, first, second):
    found = verdict(tmp_path, "part", text)
    assert first in found.fault.name
    more = [remark for remark in found.remarks if "second fault" in remark]
    assert len(more) == (second is not None)
    assert second is None or second in more[0]


INLINE, TURNED = "encoder_layer__all_inline", "language_model__turned_einsum"
UNSCALED, OVER_QUERIES = ("s = q @ k / math.sqrt(D//H)", "s = q @ k"), ("dim=3", "dim=2")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "edits", "first", "second"),
    [
        (INLINE, [UNSCALED, OVER_QUERIES], "not scaled", "over the queries"),
        (INLINE, [UNSCALED, ("torch.relu(self.f1(x))", "self.f1(x)")], "no ReLU", "not scaled"),
        (INLINE, [OVER_QUERIES, ("self.n2(x +", "self.n2(")], "residual connection is missing", "over the queries"),
        (INLINE, [UNSCALED], "not scaled", None),
        pytest.param(
            TURNED,
            [("x = x + (F.silu(", "x = (F.silu("), (" / q.shape[-1] ** 0.5", "")],
            "residual",
            "not scaled",
            marks=pytest.mark.weekly,
        ),
    ],
)
def test_two_faults_of_its_numbers_are_both_named(tmp_path, name, edits, first, second):
    text = right_text(name)
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    fault = verdict(tmp_path, name, text).fault.name
    assert first in fault
    assert ("; and " in fault) == (second is not None)
    assert second is None or second in fault


@pytest.mark.long
def test_so_are_those_of_an_attention_without_biases(tmp_path):
    text = CAUSAL.replace("SCALE", WIDTH).replace("TRAINING", ", self.training").replace(".tril()", ".tril(1)")
    text = text.replace("3 * d_model)", "3 * d_model, bias=False)").replace(
        "(d_model, d_model)", "(d_model, d_model, False)"
    )
    fault = verdict(tmp_path, "part", text).fault.name
    assert "√d_model" in fault
    assert "next one" in fault


ATTEND = """# kind: attention
# name: attend
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)SCALE
    if mask is not None:
        scores = scores.masked_fill(mask == FILLED, -1e9)
    return torch.softmax(scores, AXIS) @ value
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("scale", "filled", "axis", "faults"),
    [
        ("", 0, -1, 1),
        ("", 0, -2, 2),
        (" / query.shape[-1]", 0, -2, 2),
        (" / query.shape[-1] ** 0.5", 0, -2, 1),
        (" / key.shape[-2] ** 0.5", 0, -2, 2),
    ],
)
def test_so_are_those_of_a_function(tmp_path, scale, filled, axis, faults):
    text = ATTEND.replace("SCALE", scale).replace("FILLED", str(filled)).replace("AXIS", str(axis))
    name = verdict(tmp_path, "attend", text).fault.name
    assert len(name.split("; and ")) == faults, name
    assert ("not scaled" in name) == (scale == "")
    assert axis == -1 or "softmax runs over" in name

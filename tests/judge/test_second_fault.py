"""A second fault is named where the first one leaves the numbers as they are, and never where there is none."""

import pytest

from tests.judge.reading import verdict

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

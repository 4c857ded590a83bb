"""Mistakes as readers really write them, not as the catalogue does, get the right name."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from tests.unit.diagnosis import diagnosis
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def attend(query, key, value, mask=None, *, divide=math.sqrt, fill=-1e9, blocked=torch.logical_not, drop=0.0, dim=-1):
    """The usual twelve lines, with one thing to get wrong."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / divide(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(blocked(mask), fill)
    return torch.matmul(F.dropout(F.softmax(scores, dim=dim), drop), value)


def attend_with_capital_t(query, key, value, mask=None):
    return F.softmax(query @ key.T / 2, dim=-1) @ value


def attend_and_mask_late(query, key, value, mask=None):
    weights = F.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)
    return (weights if mask is None else weights.masked_fill(mask == 0, 0)) @ value


ATTENTIONS = {
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
    "`.T` reverses all four dimensions": attend_with_capital_t,
    "the mask is applied after the softmax": attend_and_mask_late,
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_as_readers_write_it(name):
    assert diagnosis(checks.check_scaled_dot_product_attention, ATTENTIONS[name]).startswith(name)


def table(max_len, d_model, *, base=10000.0, power=None, halves=False):
    """The widely copied lines, in float32."""
    position = torch.arange(0, max_len).unsqueeze(1).float()
    frequency = torch.exp(torch.arange(0, d_model, 2).float() * -(power or math.log(base) / d_model))
    pe = torch.zeros(max_len, d_model)
    half = d_model // 2
    pe[:, slice(half) if halves else slice(0, None, 2)] = torch.sin(position * frequency)
    pe[:, slice(half, None) if halves else slice(1, None, 2)] = torch.cos(position * frequency)
    return pe


TABLES = {
    "the angles are computed in float32": table,
    "the base is 1000": partial(table, base=1000.0),
    "all sines stand first": partial(table, halves=True),
    "the parenthesis is in the wrong place": lambda n, d: table(n, d, power=math.log(10000.0 / d)),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_as_readers_write_them(name):
    assert diagnosis(checks.check_sinusoidal_table, TABLES[name]).startswith(name)


class SequenceFirst(nn.Module):
    """Written for (seq, batch, d_model), used with (batch, seq, d_model)."""

    def __init__(self, d_model, max_len=5000, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", te.sinusoidal_table(max_len, d_model)[:, None])

    def forward(self, x, offset=0):
        return self.dropout(x + self.pe[offset : offset + x.size(0)])


class Homeless(SequenceFirst):
    """The table in a plain attribute."""

    def __init__(self, d_model, max_len=5000, dropout=0.1):
        nn.Module.__init__(self)
        self.dropout = nn.Dropout(dropout)
        self.encoding = te.sinusoidal_table(max_len, d_model)

    def forward(self, x, offset=0):
        return self.dropout(x + self.encoding[offset : offset + x.size(1)])


@pytest.mark.parametrize(
    ("cls", "name"), [(SequenceFirst, "the table is indexed by the batch"), (Homeless, "the table is kept in a plain")]
)
def test_encodings_as_readers_write_them(cls, name):
    assert diagnosis(checks.check_positional_encoding, cls).startswith(name)


def test_a_loss_and_a_mask_as_readers_write_them():
    with pytest.raises(checks.CheckFailed, match="Diagnosis: padding counts"):
        checks.check_label_smoothing(
            lambda logits, target, pad_id, smoothing: F.cross_entropy(
                logits.flatten(0, 1), target.flatten(), label_smoothing=smoothing
            )
        )
    with pytest.raises(checks.CheckFailed, match="Diagnosis: it is the upper triangle"):
        checks.check_causal_mask(lambda size: torch.triu(torch.ones(size, size)) == 1)
    with pytest.raises(checks.CheckFailed, match=r"Diagnosis: the shape is \(batch, seq\)"):
        checks.check_padding_mask(lambda ids, pad_id: ids.ne(pad_id))

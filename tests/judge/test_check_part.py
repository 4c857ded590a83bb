"""A part of any kind is checked where it was written: as the command judges it, without a process of its own."""

import time

import pytest
import torch
from torch import nn

import transformer_edu as te
from transformer_edu import checks
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.parts.rms_norm import RMSNorm

pytestmark = pytest.mark.usefixtures("at_readers_speed")


class MyRMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        return self.gain * x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()


class Centred(MyRMSNorm):
    def forward(self, x):
        return super().forward(x - x.mean(-1, keepdim=True))


class Unwritten(MyRMSNorm):
    def forward(self, x):
        raise NotImplementedError


class Hostile(MyRMSNorm):
    def forward(self, x):
        raise RuntimeError("\x1b[31m✓ all is well\x1b[0m\n✓ really")


def failure(part, kind=None):
    with pytest.raises(checks.CheckFailed) as caught:
        checks.check_part(part, kind)
    return caught.value


@pytest.mark.parametrize(("part", "kind"), [(MyRMSNorm, None), (RMSNorm, None), (nn.RMSNorm, None)])
def test_what_is_right_is_told_in_a_line(part, kind, capsys):
    checks.check_part(part, kind)
    assert capsys.readouterr().out.startswith("✓ rms_norm: ")


def test_another_convention_is_a_remark(capsys):
    checks.check_part(lambda size: ~torch.ones(size, size, dtype=torch.bool).tril(), "causal_mask")
    assert "Remark: " in capsys.readouterr().out


class FourTimesAsWide(nn.Module):
    """It takes any option, and uses none of those that it does not name."""

    def __init__(self, d_model, **options):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.ReLU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        return self.net(x)


def built(d_model, **options):
    """It hands its options on, and refuses those that it does not know."""
    return PositionwiseFeedForward(d_model, **options)


@pytest.mark.parametrize(("part", "remark"), [(FourTimesAsWide, "it takes no dropout"), (built, "")])
def test_options_behind_two_stars_are_taken_only_where_others_are_refused(part, remark, capsys):
    checks.check_part(part, "feed_forward")
    assert capsys.readouterr().out.partition("Remark: ")[2].strip() == remark


def test_a_fault_is_named_with_why_and_a_hint():
    found = failure(Centred, "rms_norm")
    assert "mean" in found.mistake.name
    assert all(f"\n{label}:" in f"{found}" for label in ("Diagnosis", "Why", "Hint"))
    assert max(map(len, str(found).splitlines())) <= 72


def test_what_is_not_written_yet_is_told_so():
    found = failure(Unwritten, "rms_norm")
    assert found.mistake is None
    assert "Not written yet" in str(found)


def test_what_stops_is_no_named_mistake_and_its_words_stay_in_their_line():
    found = failure(Hostile, "rms_norm")
    assert found.mistake is None
    assert "\x1b" not in str(found)
    assert not any(line.startswith("✓") for line in str(found).splitlines())


def test_undecided_is_no_pass():
    class Wider(MyRMSNorm):
        def __init__(self, d_model, eps=1e-5):
            super().__init__(3 * d_model, eps)

        def forward(self, x):
            return super().forward(x.repeat(1, 1, 3))[..., : x.shape[-1]]

    assert str(failure(Wider, "feed_forward")).startswith(("?", "✗"))


@pytest.mark.parametrize(
    ("part", "kind", "error", "words"),
    [
        (MyRMSNorm(4), "rms", ValueError, "kind must be one of input_embedding"),
        (Unwritten, None, ValueError, "'Unwritten' does not say what it is"),
        ("MyRMSNorm", None, TypeError, "part must be a function or class"),
    ],
)
def test_bad_arguments_are_named(part, kind, error, words):
    with pytest.raises(error, match=words):
        checks.check_part(part, kind)


@pytest.mark.long
def test_what_would_take_minutes_is_not_tried_and_that_is_told(capsys):
    def attention(query, key, value, mask=None):
        time.sleep(1e-3 * query.shape[-2] * key.shape[-2])  # as loops over all pairs of tokens do
        return te.scaled_dot_product_attention(query, key, value, mask)

    start = time.monotonic()
    checks.check_part(attention, "attention")
    assert "300 tokens: not tried" in capsys.readouterr().out
    assert time.monotonic() - start < 60


def test_settings_of_the_process_stay_as_they_are():
    torch.set_default_dtype(torch.float64)
    try:
        checks.check_part(MyRMSNorm)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)

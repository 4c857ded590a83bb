"""What a failed check says, and when two findings are the same."""

import math

import numpy as np
import pytest
import torch

from tests.unit.checked import failure, told
from transformer_edu.book.exercises.checks.engine.compare import Change, Unfit, agree, as_number, as_tensor, change

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def test_an_exception_is_reported_with_shapes_line_and_cause():
    def attention(query, key, value, mask=None):
        return query @ key.squeeze(0) @ value.unsqueeze(-1)

    found = failure("attention", attention)
    for words in ("RuntimeError: ", "in attention, line", "return query @ key.squeeze(0)"):
        assert words in told(found)
    assert "(shape (1, 1, 2, 4), float32)" in str(found)
    assert isinstance(found.__cause__, RuntimeError)


def test_an_unknown_mistake_is_shown_plainly_and_not_guessed():
    found = failure("softmax", lambda scores: 2 * torch.softmax(scores, dim=-1))
    assert found.mistake is None
    assert "none of the known mistakes" in str(found)
    assert "[0.2689  0.7311]" in str(found)
    assert "[0.5379  1.4621]" in str(found)


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        (lambda scores: torch.softmax(scores, dim=-1) @ torch.ones(7, 7), "Which shapes does the line"),
        (lambda scores: torch.exp(scores - scores.max(dim=-1, keepdim=True)), "Print the type of each thing"),
        (lambda scores: torch.softmax(scores, dim=-1).tolist() and None, "has not the form that is asked for"),
    ],
)
def test_an_unknown_error_is_asked_about_as_what_it_is(code, asks):
    assert asks in told(failure("softmax", code))


def test_a_mistake_that_agrees_everywhere_but_in_the_failing_trial_is_not_named():
    found = failure("softmax", lambda scores: torch.softmax(scores.clamp(min=-1.0), dim=-1))
    assert found.trial == "a blocked score, -inf"
    assert found.mistake is None


def test_two_mistakes_at_once_are_told_one_after_the_other():
    def unscaled_and_inverted(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1)
        scores = scores if mask is None else scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1) @ value

    def inverted(query, key, value, mask=None):
        return unscaled_and_inverted(query / math.sqrt(query.shape[-1]), key, value, mask)

    first, second = (told(failure("attention", code)) for code in (unscaled_and_inverted, inverted))
    assert "Diagnosis: the scores are not scaled." in first
    assert "something else differs too" in first
    assert "Diagnosis: the mask is inverted" in second
    assert "something else differs too" in second, "a blocked query takes the mean of all values here"


def test_a_long_line_of_a_diagnosis_goes_on_under_its_text():
    lines = str(failure("softmax", torch.exp)).splitlines()
    [why] = [number for number, line in enumerate(lines) if line.startswith("Why:       ")]
    assert lines[why + 1].startswith(" " * 11)
    assert lines[why + 1].strip()


def test_a_notebook_prints_the_message_without_frames():
    found = failure("causal mask", lambda size: torch.ones(size, size))
    assert found._render_traceback_() == str(found).splitlines()


def test_agreement_of_findings():
    assert agree(math.nan, math.nan, 1e-4)
    assert not agree(1.0, 1, 1e-4), "a number of another kind is another finding"
    assert not agree(torch.zeros(2), torch.zeros(1, 2), 1e-4), "a shape is part of the answer"
    assert not agree(torch.ones(2) + 1j, torch.ones(2) + 1j, 1e-4)
    assert agree({"a": 1.0, "b": None}, {"a": 1.0, "b": 5.0}, 1e-4)
    assert not agree({"a": 1.0}, {"b": 1.0}, 1e-4)


def test_a_change_is_some_or_none():
    assert Change(0.5) == Change(2.0)
    assert hash(Change(0.5)) == hash(Change(2.0))
    assert Change(0.0) != Change(2.0)
    assert Change(math.nan).visible, "a NaN is a change"
    with pytest.raises(Unfit, match=r"the shape changed from \(2,\) to \(3,\)"):
        change(torch.zeros(2), torch.zeros(3))


def test_results_are_read_generously():
    assert as_tensor([[1.0, 2.0]]).shape == (1, 2)
    assert torch.equal(as_tensor(torch.eye(2).to_sparse()), torch.eye(2))
    assert as_number(torch.tensor([2.0])) == as_number(np.float32(2)) == 2.0


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (as_tensor, "no", "returned a str, expected"),
        (as_tensor, np.ones(2) * 1j, "returned complex numbers"),
        (as_tensor, torch.ones(2, device="meta"), "on the device 'meta', which holds no numbers"),
        (as_number, torch.zeros(2), r"returned a tensor of shape \(2,\), expected one number"),
        (as_number, np.complex64(1), "complex"),
    ],
)
def test_what_is_no_real_number_is_named(read, value, words):
    with pytest.raises(Unfit, match=words):
        read(value)


def test_an_array_that_is_filled_again_later_does_not_change_what_was_seen():
    numbers = np.zeros(2)
    seen = as_tensor(numbers)
    numbers += 1
    assert torch.equal(seen, torch.zeros(2).double())

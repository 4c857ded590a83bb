"""What a failed check says, and what a check leaves alone."""

import math

import pytest
import torch

from transformer_edu import PositionalEncoding, checks, scaled_dot_product_attention
from transformer_edu.checks import CheckFailed
from transformer_edu.checks.engine.compare import Change, Unfit, agree, as_number, as_tensor, change

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def message_of(check, *candidates) -> str:
    with pytest.raises(CheckFailed) as failure:
        check(*candidates)
    return str(failure.value)


def test_an_exception_is_reported_with_shapes_line_and_cause():
    def attention(query, key, value, mask=None):
        return query @ key.squeeze(0) @ value.unsqueeze(-1)

    with pytest.raises(CheckFailed) as failure:
        checks.check_scaled_dot_product_attention(attention)
    message = str(failure.value)
    assert "RuntimeError: " in message
    assert "in attention, line" in message
    assert "return query @ key.squeeze(0)" in message
    assert "(shape (1, 1, 2, 4), float32)" in message
    assert isinstance(failure.value.__cause__, RuntimeError)


def test_what_is_not_written_yet_is_said_to_be_so():
    def attention(query, key, value, mask=None):
        raise NotImplementedError

    assert "Not written yet" in message_of(checks.check_scaled_dot_product_attention, attention)


def test_a_missing_return_is_named():
    def attention(query, key, value, mask=None):
        query @ key.transpose(-2, -1)

    assert "returned None" in message_of(checks.check_scaled_dot_product_attention, attention)
    assert "is the `return` missing?" in message_of(checks.check_softmax, lambda scores: None)
    assert "returned None, expected one number" in message_of(checks.check_warmup_schedule, lambda *_: None)
    assert "returned None" in message_of(checks.check_shift, lambda target: None)


def test_too_many_results_are_named():
    message = message_of(checks.check_scaled_dot_product_attention, lambda q, k, v, mask=None: (q, k, v))
    assert "returned 3 things, expected output or (output, weights)" in message


def test_an_unknown_mistake_is_shown_plainly_and_not_guessed():
    def doubled(scores):
        return 2 * torch.softmax(scores, dim=-1)

    with pytest.raises(CheckFailed) as failure:
        checks.check_softmax(doubled)
    assert failure.value.mistake is None
    assert "none of the known mistakes" in str(failure.value)
    assert "[0.2689  0.7311]" in str(failure.value)
    assert "[0.5379  1.4621]" in str(failure.value)


def test_a_mistake_that_agrees_everywhere_but_in_the_failing_trial_is_not_named():
    def afraid_of_infinity(scores):
        return torch.softmax(scores.clamp(min=-1.0), dim=-1)

    with pytest.raises(CheckFailed) as failure:
        checks.check_softmax(afraid_of_infinity)
    assert failure.value.trial == "a blocked score, -inf"
    assert failure.value.mistake is None


def test_two_mistakes_at_once_are_told_one_after_the_other():
    def unscaled_and_inverted(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1)
        scores = scores if mask is None else scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1) @ value

    def inverted(query, key, value, mask=None):
        return unscaled_and_inverted(query / math.sqrt(query.shape[-1]), key, value, mask)

    first = message_of(checks.check_scaled_dot_product_attention, unscaled_and_inverted)
    assert "Diagnosis: the scores are not scaled." in first
    assert "something else differs too" in first
    second = message_of(checks.check_scaled_dot_product_attention, inverted)
    assert "Diagnosis: the mask is inverted" in second
    assert "something else differs too" in second, "a blocked query takes the mean of all values here"


def test_a_notebook_prints_the_message_without_frames():
    with pytest.raises(CheckFailed) as failure:
        checks.check_causal_mask(lambda size: torch.ones(size, size))
    assert failure.value._render_traceback_() == str(failure.value).splitlines()


def test_a_check_leaves_the_random_state_alone():
    torch.manual_seed(123)
    before = torch.random.get_rng_state()
    checks.check_positional_encoding(PositionalEncoding)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_check_wants_the_function_not_its_result():
    with pytest.raises(TypeError, match=r"fn must be a function or class \(without calling it\), got Tensor"):
        checks.check_causal_mask(torch.ones(3, 3))
    for check in (checks.check_softmax, checks.check_shift, checks.check_transformer, checks.check_positional_encoding):
        with pytest.raises(TypeError, match="without calling it"):
            check(3)


def test_what_is_no_module_is_named():
    assert "makes a list, expected a torch.nn.Module" in message_of(
        checks.check_positional_encoding, lambda d_model, max_len, dropout: [d_model]
    )
    assert "makes a dict, expected a torch.nn.Module" in message_of(
        checks.check_transformer, lambda source, target, **fields: fields
    )


def test_weights_are_compared_only_when_they_are_returned():
    def output_only(query, key, value, mask=None):
        return scaled_dot_product_attention(query, key, value, mask)[0]

    checks.check_scaled_dot_product_attention(output_only)


def test_agreement_of_findings():
    assert agree(math.nan, math.nan, 1e-4)
    assert not agree(1.0, 1, 1e-4), "a number of another kind is another finding"
    assert not agree(torch.zeros(2), torch.zeros(1, 2), 1e-4), "a shape is part of the answer"
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
    assert as_number(torch.tensor([3.0])) == 3.0
    with pytest.raises(Unfit, match="returned a str, expected a table"):
        as_tensor("no", "a table")
    with pytest.raises(Unfit, match=r"returned a tensor of shape \(2,\), expected one number"):
        as_number(torch.zeros(2))

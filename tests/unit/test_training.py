"""The loss, the schedule, the loop and the score."""

import math
from functools import partial

import pytest
import torch
from torch.nn import functional

from tests.unit.conftest import refusals
from transformer_edu import build_transformer
from transformer_edu.data import Batch, copy_pairs, iterate_batches, make_batch, reverse_pairs
from transformer_edu.training import (
    History,
    Step,
    evaluate_loss,
    exact_match,
    greedy_ids,
    label_smoothing,
    train,
    warmup_schedule,
)


def small_model(dropout=0.0):
    torch.manual_seed(0)
    return build_transformer(12, 12, d_model=32, num_heads=4, d_ff=64, num_layers=1, dropout=dropout, max_len=16)


def batches(count=8, size=8, **options):
    """Batches of a copy task: 8 sentence pairs of 3 to 5 words, unless asked for more, in one batch or several."""
    return iterate_batches(copy_pairs(count, 12, 3, 5), size, **options)


def fit(model, given=None, **options):
    """Train on `given`, or on one batch, quietly."""
    return train(model, given or batches(), **{"learning_rate": 1e-3, "progress": False, **options})


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("pad_id", [0, -100, 3])
def test_loss_and_gradient_equal_torchs(smoothing, pad_id):
    torch.manual_seed(1)
    logits = torch.randn(3, 5, 7, dtype=torch.float64, requires_grad=True)
    target = torch.randint(0, 7, (3, 5))
    target[:, -1] = pad_id
    ours = label_smoothing(logits, target, pad_id, smoothing)
    theirs = functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing
    )
    assert abs(ours - theirs) <= 1e-12
    assert abs(label_smoothing(logits.flatten(0, 1), target.flatten(), pad_id, smoothing) - ours) <= 1e-12
    (ours_gradient,) = torch.autograd.grad(ours, logits)
    (theirs_gradient,) = torch.autograd.grad(theirs, logits)
    assert (ours_gradient - theirs_gradient).abs().max() <= 1e-12


def test_padding_positions_change_nothing_and_get_no_gradient():
    torch.manual_seed(1)
    logits, target = torch.randn(1, 4, 7), torch.tensor([[4, 5, 0, 0]])
    changed = logits.clone()
    changed[0, 2:] = torch.tensor([math.inf, *[-1e30] * 6])  # even numbers that would poison a plain multiplication
    assert label_smoothing(logits, target, 0, 0.1) == label_smoothing(changed, target, 0, 0.1)
    leaf = logits.clone().requires_grad_()
    label_smoothing(leaf, target, 0, 0.1).backward()
    assert leaf.grad[0, 2:].abs().max() == 0
    assert leaf.grad[0, :2].abs().min() > 0


def test_schedule_is_the_papers_formula():
    for step in (1, 100, 4000, 4001, 100_000):  # on both sides of the peak
        paper = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert warmup_schedule(step, 512, 4000) == pytest.approx(paper, rel=1e-12)


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize("pairs", [copy_pairs(8, 12, 3, 5), reverse_pairs(8, 12, 3, 5)], ids=["copy", "reverse"])
@pytest.mark.long
def test_one_batch_can_be_learnt_by_heart(pairs):
    model = small_model()
    history = fit(model, iterate_batches(pairs, 8, epochs=None), steps=60, learning_rate=5e-3, smoothing=0.0)
    assert history.losses[0] > 2
    assert history.losses[-1] < 0.05
    assert exact_match(model, pairs) == 1.0


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.long
def test_unshifted_target_is_no_task_at_all():
    """Sabotage: with the target not shifted the loss falls to nothing, and decoding gets nothing right."""
    pairs, model = copy_pairs(32, 12, 3, 5), small_model()
    batch = make_batch(pairs)
    unshifted = Batch(batch.source, batch.target_out, batch.target_out)
    history = fit(model, [unshifted] * 80, learning_rate=5e-3, smoothing=0.0)
    assert history.losses[-1] < 0.05
    assert exact_match(model, pairs) < 0.2


def test_the_seed_decides_the_weights_and_the_callers_random_state_neither_matters_nor_changes():
    def weights(seed, callers):
        model = small_model(dropout=0.2)
        torch.manual_seed(callers)
        expected = torch.rand(1)
        torch.manual_seed(callers)
        fit(model, batches(16), seed=seed)
        assert torch.equal(torch.rand(1), expected)
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    first = weights(0, callers=11)
    assert torch.equal(first, weights(0, callers=12))
    assert not torch.equal(first, weights(1, callers=11))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_every_part_is_put_back(training):
    model = small_model().train(training)
    model.encoder.train(not training)  # a frozen part in a model that is being trained, and the other way round
    before = {name: module.training for name, module in model.named_modules()}
    modes = []
    fit(model, on_step=lambda step, model: modes.append({module.training for module in model.modules()}))
    evaluate_loss(model, batches())
    exact_match(model, copy_pairs(4, 12))
    assert modes == [{True}]
    assert {name: module.training for name, module in model.named_modules()} == before


def test_a_loss_that_is_not_a_number_stops_the_run_and_says_where():
    def poison(step, model):
        if step.step == 2:
            model.projection.linear.weight.data.fill_(math.nan)

    with pytest.raises(FloatingPointError, match=r"got nan at step 3 with learning rate 0\.001"):
        fit(small_model(), batches(epochs=None), steps=9, on_step=poison)


def test_clipping_bounds_the_gradient():
    norms = []

    def look(step, model):
        norms.append(math.sqrt(sum(float(p.grad.pow(2).sum()) for p in model.parameters() if p.grad is not None)))

    for clip_norm in (0.01, None):
        fit(small_model(), clip_norm=clip_norm, on_step=look)
    assert norms[0] == pytest.approx(0.01, rel=1e-3)
    assert norms[1] > 0.02


def test_the_loop_takes_the_loss_of_the_contract_and_the_rate_of_a_function_of_steps_from_one(capsys):
    first, model = next(batches(8, 4)), small_model()
    expected = label_smoothing(model(first.source, first.target_in), first.target_out, 0, 0.2)
    history = fit(model, batches(8, 4), smoothing=0.2, learning_rate=lambda step: step * 1e-4, progress=True)
    assert history.losses[0] == pytest.approx(expected.item(), abs=1e-5)
    assert [step.learning_rate for step in history.steps] == pytest.approx([1e-4, 2e-4])
    assert "loss" in capsys.readouterr().err


def test_mean_loss_counts_tokens_not_batches():
    history = History([Step(1, 1.0, 30, 1e-3), Step(2, 4.0, 10, 1e-3)])
    assert history.mean_loss() == pytest.approx((30 * 1 + 10 * 4) / 40)
    assert history.mean_loss(last=1) == 4.0


@pytest.mark.long
def test_evaluation_depends_neither_on_the_batches_nor_on_dropout():
    model, pairs = small_model(dropout=0.5), copy_pairs(11, 12, 1, 8)
    losses = [evaluate_loss(model, iterate_batches(pairs, size)) for size in (1, 4, 11)]
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-5)
    mean_of_means = sum(evaluate_loss(model, iterate_batches(pairs[i : i + 4], 4)) for i in (0, 4, 8)) / 3
    assert abs(mean_of_means - losses[0]) > 1e-4  # the mistake would be seen here
    sources = [source for source, _ in pairs]
    assert greedy_ids(model, sources, max_len=8, batch_size=7) == greedy_ids(model, sources, max_len=8, batch_size=2)


def test_exact_match_wants_every_word_and_the_end(monkeypatch):
    answers = torch.tensor([[1, 5, 6, 2, 0], [1, 5, 6, 7, 2], [1, 5, 2, 0, 0], [1, 5, 6, 7, 8]])
    monkeypatch.setattr("transformer_edu.training.evaluate.greedy_search", lambda *_: answers)
    pairs = [([4], [5, 6])] * 4  # right; one word too many; one too few; no end
    assert exact_match(small_model(), pairs) == 0.25


loss_of = partial(label_smoothing, torch.zeros(2, 7), pad_id=0)
test_bad_arguments_are_named = refusals(
    (lambda: loss_of(torch.ones(2, 4).long()), ValueError, "target must have the shape"),
    (lambda: loss_of(torch.tensor([1, 7])), ValueError, r"ids in 0 \.\. 6, the columns .* got 7"),
    (lambda: loss_of(torch.tensor([1, -1])), ValueError, "got -1"),
    (lambda: loss_of(torch.tensor([0, 0])), ValueError, "at least one id other than pad_id"),
    (lambda: loss_of(torch.tensor([1.0, 2.0])), TypeError, "target must hold ids"),
    (lambda: loss_of(torch.tensor([1, 2]), smoothing=1.0), ValueError, "smoothing must be in"),
    (lambda: warmup_schedule(0, 64, 400), ValueError, "step must be"),
    (lambda: warmup_schedule(1.5, 64, 400), TypeError, "step must be"),
    (lambda: fit(small_model(), steps=0), ValueError, "steps must be at least 1"),
    (lambda: fit(small_model(), learning_rate=0.0), ValueError, "learning_rate must be a finite number greater than 0"),
    (lambda: fit(small_model(), learning_rate=math.nan), ValueError, "learning_rate must be a finite number"),
    (lambda: fit(small_model(), clip_norm=-1.0), ValueError, "clip_norm must be"),
    (lambda: fit(small_model(), iter([])), ValueError, "batches must hold at least one batch"),
    (lambda: evaluate_loss(small_model(), []), ValueError, "batches must hold at least one batch"),
    (lambda: History().mean_loss(), ValueError, "steps must hold at least one step"),
    (lambda: exact_match(small_model(), []), ValueError, "pairs must hold"),
)

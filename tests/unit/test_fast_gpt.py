"""A GPT that is switched on writes what it wrote before, also where its quick way is not open."""

import copy

import pytest
import torch
from torch import nn

import transformer_edu as te
from transformer_edu import fast
from transformer_edu.decoding.continuation import continue_text
from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.fast.gpt import QuickPromptWriter
from transformer_edu.models.gpt import GPT, GPTConfig

pytestmark = pytest.mark.usefixtures("at_readers_speed")
IDS = torch.tensor([[3, 4, 5, 6], [8, 3, 9, 7]])


@pytest.fixture
def plain():
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, 16, 4, 24, 2, dropout=0.0, max_len=12, pad_id=0)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
    return model


def logits(writer, ids=IDS):
    return torch.stack([writer.next_logits(part) for part in ids.split([2, 1, 1], dim=1)])


@pytest.fixture
def steps(monkeypatch):
    """How often the quick way was gone."""
    seen, usual = [], QuickPromptWriter._step
    monkeypatch.setattr(QuickPromptWriter, "_step", lambda self, *given: seen.append(1) or usual(self, *given))
    return seen


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_each_single_token_goes_the_quick_way_to_the_same_scores(plain, steps, dtype):
    quick = fast.switch_on(copy.deepcopy(plain)).to(dtype)
    torch.testing.assert_close(logits(quick.start()), logits(PromptWriter(plain.to(dtype))), rtol=0, atol=1e-5)
    assert len(steps) == 2


@torch.no_grad()
def test_rows_can_change_places_between_two_tokens(plain, steps):
    quick = fast.switch_on(copy.deepcopy(plain))
    found = []
    for writer in (quick.start(), PromptWriter(plain)):
        writer.next_logits(IDS[:, :2])
        writer.next_logits(IDS[:, 2:3])
        writer.reorder(torch.tensor([1, 1, 0]))
        found.append(writer.next_logits(IDS[[1, 1, 0], 3:]))
    torch.testing.assert_close(*found, rtol=0, atol=1e-5)
    assert len(steps) == 2


def test_a_text_beyond_the_context_is_the_same(plain, steps):
    quick = fast.switch_on(copy.deepcopy(plain))
    words = {"choose": lambda scores: scores[:, 1:].argmax(dim=-1) + 1}  # no padding
    assert continue_text(quick, IDS, 20, **words).tolist() == continue_text(plain, IDS, 20, **words).tolist()
    assert len(steps) > 10


def watched(model):
    model.decoder.layers[1].feed_forward.register_forward_hook(lambda *given: None)


def another_part(model):
    model.decoder.layers[0].feed_forward = nn.Sequential(nn.Linear(16, 16), nn.Tanh())


def another_norm(model):
    model.decoder.layers[0].feed_forward_residual = te.ResidualConnection(te.RMSNorm(16), pre=True)


def another_last_norm(model):
    model.decoder.final_norm = te.RMSNorm(16)


def without_biases(model):
    model.decoder.layers[0].self_attention = te.MultiHeadAttention(16, 4, bias=False)


def shared_keys(model):
    model.decoder.layers[1].self_attention = te.MultiHeadAttention(16, 4, num_kv_heads=2)


@torch.no_grad()
@pytest.mark.parametrize("change", [watched, another_part, another_norm, another_last_norm, shared_keys])
def test_what_is_not_as_built_goes_the_usual_way(plain, steps, change):
    torch.manual_seed(1)
    change(plain)
    quick = fast.switch_on(copy.deepcopy(plain))
    torch.testing.assert_close(logits(quick.start()), logits(PromptWriter(plain)), rtol=0, atol=1e-5)
    assert steps == []


@torch.no_grad()
def test_attention_without_biases_goes_the_quick_way_too(plain, steps):
    torch.manual_seed(1)
    without_biases(plain)
    quick = fast.switch_on(copy.deepcopy(plain))
    torch.testing.assert_close(logits(quick.start()), logits(PromptWriter(plain)), rtol=0, atol=1e-5)
    assert len(steps) == 2


@torch.no_grad()
def test_padding_on_the_left_goes_the_usual_way(plain, steps):
    quick, ids = fast.switch_on(copy.deepcopy(plain)), torch.tensor([[0, 0, 5, 6], [8, 3, 9, 7]])
    torch.testing.assert_close(logits(quick.start(), ids), logits(PromptWriter(plain), ids), rtol=0, atol=1e-5)
    assert steps == []


def test_a_gradient_goes_the_usual_way(plain, steps):
    quick = fast.switch_on(plain)
    logits(quick.start()).sum().backward()
    assert quick.embedding.weight.grad.abs().sum() > 0
    assert steps == []


@torch.no_grad()
def test_a_recorded_text_goes_the_usual_way(plain, steps):
    quick = fast.switch_on(plain)
    with te.record_attention(quick) as maps:
        logits(quick.start())
    assert steps == []
    assert maps

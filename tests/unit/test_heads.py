"""What heads do, measured: on weights worked out by hand, and on a model whose parts are taken out by hand."""

import copy
import math

import pytest
import torch

from tests.properties.models import SOURCE, TARGET, small_model
from transformer_edu import causal_mask, record_attention
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.contributions import contributions, rollout
from transformer_edu.inspect.head_effects import head_effects, mean_outputs, token_losses, without_heads
from transformer_edu.inspect.heads import (
    attention_distance,
    attention_entropy,
    attentions,
    head_entropies,
    head_names,
    offset_share,
)
from transformer_edu.inspect.lens import stream_logits

EVEN, BACK = torch.full((3, 3), 1 / 3), torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 1, 0]])
CAUSAL = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [1, 0, 0]])


def test_entropy_distance_and_offset_by_hand():
    both = torch.stack([EVEN, BACK])
    assert attention_entropy(both).tolist() == pytest.approx([1, 0])
    assert attention_entropy(CAUSAL, causal_mask(3)).item() == pytest.approx(0.5)  # of two queries that have a choice
    assert attention_entropy(torch.ones(2, 1, 1)).tolist() == [0, 0]
    maps = {"decoder.0.self": CAUSAL[None], "decoder.0.cross": EVEN[None]}
    assert head_entropies(maps) == pytest.approx({"decoder.0.self.0": 0.5, "decoder.0.cross.0": 1})
    assert attention_distance(both).tolist() == pytest.approx([8 / 9, 2 / 3])
    assert offset_share(both, -1).tolist() == pytest.approx([1 / 3, 1])
    assert offset_share(EVEN[:2], 2).item() == pytest.approx(1 / 3)
    for offset in (3, -3):
        with pytest.raises(ValueError, match=f"offset must leave a key .* 3 queries and 3 keys, got {offset}"):
            offset_share(both, offset)


def test_the_loss_is_that_of_every_token_but_padding():
    model = small_model()
    losses = token_losses(model, SOURCE, TARGET)
    log_probs = model(SOURCE, TARGET[:, :-1]).log_softmax(-1)
    by_hand = [
        -log_probs[row, place, word].item()
        for row, line in enumerate(TARGET[:, 1:].tolist())
        for place, word in enumerate(line)
        if word != model.config.pad_id
    ]
    assert losses.tolist() == pytest.approx(by_hand, abs=1e-6)


def test_a_head_that_is_off_adds_nothing_and_one_at_its_mean_always_the_same():
    model = small_model()
    name = head_names(model)[-1]
    path, _, head = name.rpartition(".")
    part = attentions(model)[path]
    d_head = part.d_model // part.num_heads
    its = slice(int(head) * d_head, (int(head) + 1) * d_head)
    whole = token_losses(model, SOURCE, TARGET).mean()
    means = mean_outputs(model, SOURCE, TARGET)
    assert set(means) == set(head_names(model))

    weight, bias = part.output_projection.weight, part.output_projection.bias
    with torch.no_grad():
        constant = weight[:, its] @ means[name]
        weight[:, its] = 0
        off = token_losses(model, SOURCE, TARGET).mean() - whole
        bias += constant
        mean = token_losses(model, SOURCE, TARGET).mean() - whole
    again = small_model()
    assert head_effects(again, SOURCE, TARGET, heads=[name])[name] == pytest.approx(off.item(), abs=1e-6)
    assert head_effects(again, SOURCE, TARGET, "mean", [name])[name] == pytest.approx(mean.item(), abs=1e-6)
    assert set(head_effects(again, SOURCE, TARGET, "uniform")) == set(head_names(model))
    assert token_losses(again, SOURCE, TARGET).mean() == whole, "nothing is left behind"


def test_several_heads_go_together_and_not_one_after_another():
    model = small_model()
    names = head_names(model)
    with without_heads(model, names), record_attention(model) as maps:
        model(SOURCE, TARGET)
    assert all(not weights.any() for weights in maps.values())
    with (
        pytest.raises(ValueError, match="changes must be given together"),
        without_heads(model, names[:1]),
        changed(model, heads={names[1]: "off"}),
    ):
        pass
    with (
        pytest.raises(ValueError, match=f"means must hold .* got none for {names[0]}"),
        without_heads(model, names[:1], "mean"),
    ):
        pass
    with pytest.raises(ValueError, match="how must be one of"):
        head_effects(model, SOURCE, TARGET, "half")


def test_contributions_are_the_lengths_of_what_each_key_adds():
    model = small_model()
    part = model.encoder.layers[0].self_attention
    x = torch.randn(1, 4, part.d_model, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with record_attention(part) as maps, torch.no_grad():
        part(x, x, x)
    weights = next(iter(maps.values()))[0]
    found = contributions(part, weights, x[0])
    d_head = part.d_model // part.num_heads
    alone = copy.deepcopy(part.output_projection)
    with torch.no_grad():
        alone.weight[:, d_head:] = 0  # the first head
        value = x[0, 2] @ part.value_projection.weight.T
        by_hand = weights[0, 1, 2] * (alone.weight @ value).norm()
    assert found[0, 1, 2].item() == pytest.approx(by_hand.item(), rel=1e-5)


def test_rollout_follows_two_steps_and_keeps_the_token_itself():
    maps = torch.stack([BACK, BACK])[:, None]
    assert rollout(maps, residual=False)[2].tolist() == [1, 0, 0]
    assert rollout(maps)[2].tolist() == pytest.approx([0.25, 0.5, 0.25])
    assert rollout(maps).sum(-1).tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_last_place_of_the_stream_gives_the_models_own_logits(norm):
    model = small_model(norm=norm)
    read = stream_logits(model, SOURCE, TARGET)
    torch.testing.assert_close(list(read.values())[-1], model(SOURCE, TARGET))
    assert next(iter(read)) == "decoder.positional"
    assert len(read) == 1 + 3 * model.config.num_layers
    assert math.isfinite(read["decoder.0.after_self"].sum().item())

"""What a right Transformer never does, as plain functions that raise AssertionError.

The tests call them on the package as it is; `test_sabotage.py` breaks the package and expects them to fail.
"""

from contextlib import nullcontext

import torch

from tests.properties.models import (
    BOS,
    EOS,
    PAD,
    SOURCE,
    TARGET,
    VOCAB,
    assert_close,
    force_scores,
    lively_model,
    small_model,
    step_by_step,
)
from transformer_edu import greedy_search, record_attention

EXACT = 1e-11  # float64, values of order 1


def future_tokens_never_change_earlier_outputs(
    *, training=False, cached=False, num_layers=2, norm="post", recorded=False
):
    """Another token at one position, whatever it is, leaves the logits of all positions before it as they were."""
    model = small_model(num_layers=num_layers, norm=norm, training=training)

    def logits(source, target):
        if cached:
            return step_by_step(model, source, target, [2, 4])
        with record_attention(model) if recorded else nullcontext():
            return model(source, target)

    changes = [(position, token) for position in range(1, TARGET.shape[1]) for token in (PAD, VOCAB - 1)]
    changed = TARGET.repeat(len(changes), 1, 1)  # all in one batch
    for target, (position, token) in zip(changed, changes, strict=True):
        target[:, position] = token
    with torch.no_grad():
        before = logits(SOURCE, TARGET)
        together = logits(SOURCE.repeat(len(changes), 1), changed.flatten(0, 1)).unflatten(0, (len(changes), -1))
    for after, (position, token) in zip(together, changes, strict=True):
        assert_close(after[:, :position], before[:, :position], EXACT, f"token {token} at position {position}")


def more_padding_changes_nothing(*, side, training=False, norm="post"):
    """Three more columns of padding leave every real position's logits as they were."""
    model = small_model(norm=norm, training=training)
    pad = torch.full((SOURCE.shape[0], 3), PAD)
    source = torch.cat([SOURCE, pad], 1) if side == "source" else SOURCE
    target = torch.cat([TARGET, pad], 1) if side == "target" else TARGET
    real = TARGET != PAD
    with torch.no_grad():
        before, after = model(SOURCE, TARGET), model(source, target)[:, : TARGET.shape[1]]
    assert_close(after[real], before[real], EXACT, f"{side} padded further")


def other_sentences_change_nothing(*, training=False, norm="post"):
    """A sentence alone, without any padding, has the logits that it has in its batch."""
    model = small_model(norm=norm, training=training)
    with torch.no_grad():
        together = model(SOURCE, TARGET)
        for row, (source, target) in enumerate(zip(SOURCE, TARGET, strict=True)):
            source, target = source[source != PAD][None], target[target != PAD][None]
            alone = model(source, target)
            assert_close(together[row : row + 1, : target.shape[1]], alone, EXACT, f"sentence {row} alone")


def padded_tokens_get_no_gradient():
    """The loss of the real positions does not depend on the padding token's embedding."""
    model = small_model()
    model(SOURCE, TARGET)[TARGET != PAD].square().sum().backward()
    for embedding in (model.source_embedding, model.target_embedding):
        gradient = embedding.lookup.weight.grad[PAD]
        assert_close(gradient, torch.zeros_like(gradient), EXACT, "gradient of the padding token's vector")


def recorded_weights_sum_to_one(*, training, dropout=0.5):
    """Every recorded row is a distribution over the keys, dropout or not, and padding has no share in it."""
    model = small_model(dropout=dropout, training=training)
    with record_attention(model) as maps:
        model(SOURCE, TARGET)
    assert len(maps) == 6, f"expected three maps for each of two layers, got {sorted(maps)}"
    for name, weights in maps.items():
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), EXACT, f"sum of the weights of {name}")
        keys = TARGET if name.endswith("self") and name.startswith("decoder") else SOURCE
        on_padding = weights.masked_select((keys == PAD)[:, None, None, :])
        assert_close(on_padding, torch.zeros_like(on_padding), 0.0, f"weight of padding in {name}")


def recorded_weights_are_the_ones_used():
    """The logits while recording are the logits without, and the last map rebuilds its attention's output."""
    model = small_model()
    attention = model.decoder.layers[-1].cross_attention
    seen = []
    handle = attention.output_projection.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    with torch.no_grad(), record_attention(model) as maps:
        recorded = model(SOURCE, TARGET)
        value = attention.split_heads(attention.value_projection(model.encode(SOURCE)))
    handle.remove()
    assert_close(recorded, model(SOURCE, TARGET).detach(), EXACT, "logits while recording")
    rebuilt = attention.merge_heads(maps["decoder.1.cross"] @ value)
    assert_close(rebuilt, seen[0], EXACT, "weights @ values")


def recorded_maps_hold_no_graph():
    """Maps can be turned into arrays, and keep no graph alive."""
    model = small_model(training=True)
    with record_attention(model) as maps:
        model(SOURCE, TARGET)
    assert not any(weights.requires_grad for weights in maps.values()), "recorded maps must be detached"


def cached_steps_equal_the_full_pass(*, chunks, num_layers=2, norm="post"):
    """Decoding in steps of `chunks` tokens has the logits of one pass over all of them."""
    model = small_model(num_layers=num_layers, norm=norm)
    with torch.no_grad():
        cached = step_by_step(model, SOURCE, TARGET, list(chunks))
        assert_close(cached, model(SOURCE, TARGET), EXACT, f"cached decoding in steps of {chunks}")


def reordered_cache_follows_its_rows(kept=(2, 0, 2)):
    """After `reorder`, the next steps are those of the kept rows, in their order."""
    model, rows = small_model(), torch.tensor(kept)
    with torch.no_grad():
        memory, cache = model.encode(SOURCE), model.start_cache()
        model.decode(TARGET[:, :3], memory, SOURCE, cache)
        cache.reorder(rows)
        after = model.project(model.decode(TARGET[rows, 3:], memory[rows], SOURCE[rows], cache))
        assert_close(after, model(SOURCE[rows], TARGET[rows])[:, 3:], EXACT, "decoding after reorder")


def greedy_by_hand(model, source, max_len):
    """Greedy search as one would write it first: no cache, one sentence at a time, the whole model for each token."""
    answers = []
    for sentence in source:
        ids = [BOS]
        while len(ids) < max_len and ids[-1] != EOS:
            scores = model(sentence[None], torch.tensor([ids]))[0, -1].tolist()
            ids.append(max((i for i in range(VOCAB) if i not in (PAD, BOS)), key=scores.__getitem__))
        answers.append(ids)
    longest = max(map(len, answers))
    return torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in answers])


def greedy_equals_greedy_by_hand(*, seed, max_len=12, norm="post"):
    """Cached, batched greedy search gives what the slow loop gives."""
    model = lively_model(seed, norm)
    with torch.no_grad():
        expected = greedy_by_hand(model, SOURCE, max_len)
    found = greedy_search(model, SOURCE, BOS, EOS, max_len)
    assert found.tolist() == expected.tolist(), f"greedy search gave {found.tolist()}, by hand {expected.tolist()}"


def greedy_never_chooses_pad_or_begin():
    """The two forbidden ids have the highest logits; the third highest is chosen."""
    model = force_scores(small_model(), {PAD: 9.0, BOS: 8.0, 5: 7.0})
    found = greedy_search(model, SOURCE, BOS, EOS, max_len=4)
    assert found.tolist() == [[BOS, 5, 5, 5]] * 3, f"greedy search chose {found.tolist()}"


def searching_leaves_the_mode_as_it_was():
    """Greedy search runs in eval mode, and each part of the model is in its old mode afterwards."""
    model = small_model(training=True, dropout=0.5)
    model.encoder.eval()  # a frozen encoder beside a decoder in training
    modes = [module.training for module in model.modules()]
    found = [greedy_search(model, SOURCE, BOS, EOS, max_len=6).tolist() for _ in range(4)]
    assert [module.training for module in model.modules()] == modes, "greedy search must put every mode back"
    assert all(ids == found[0] for ids in found), "greedy search must run without dropout"

"""Switched on or off, a model is the same function, and the same module to whoever copies, hooks or transforms it."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.properties.models import BOS, EOS
from transformer_edu import (
    RMSNorm,
    Transformer,
    beam_search,
    build_transformer,
    fast,
    greedy_search,
    record_activations,
    record_attention,
)
from transformer_edu.fast import switch
from transformer_edu.models import GPT
from transformer_edu.training.loss import SummedLoss

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("at_readers_speed")]
PAD = 0
SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, PAD, PAD], [5, 5, 4, 3, PAD]])
TARGET = torch.tensor([[BOS, 4, 5, 6], [BOS, 7, PAD, PAD], [BOS, 9, 8, PAD]])
BATCH = (SOURCE, TARGET[:, :-1], TARGET[:, 1:])


def model(seed=0, dropout=0.0, vocab=12, **fields):
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "num_heads": 4, "d_ff": 64, "num_layers": 2, "max_len": 40, "tie_embeddings": "all"}
    return build_transformer(vocab, vocab, dropout=dropout, **{**sizes, **fields})


@pytest.fixture(params=["off", "on"])
def build(request):
    """Builds models in each state."""
    return model if request.param == "off" else lambda **fields: fast.switch_on(model(**fields))


@pytest.fixture
def built(build):
    return build()


def test_every_part_that_has_a_quick_class_gets_it_and_gives_it_back():
    one = model()
    before = [type(module) for module in one.modules()]
    assert fast.switch_on(one) is one
    assert {type(module) for module in one.modules()} >= set(switch.QUICK.values()) - {
        switch.QUICK[SummedLoss],
        switch.QUICK[RMSNorm],
        switch.QUICK[GPT],
    }
    assert isinstance(one, Transformer)
    assert str(one) == str(model())
    assert [type(module) for module in fast.switch_off(one).modules()] == before


def test_parts_of_other_classes_stay_what_they_are():
    class Mine(nn.Dropout):
        pass

    parts = nn.Sequential(Mine(), nn.Dropout())
    fast.switch_on(parts)
    assert type(parts[0]) is Mine
    assert type(parts[1]) is switch.QUICK[nn.Dropout]


def test_only_modules_can_be_switched():
    with pytest.raises(TypeError, match="model must be a Module, got str"):
        fast.switch_on("model")


def test_logits_loss_and_gradients_are_the_same(built):
    loss, plain = SummedLoss(built, 0.1), SummedLoss(model(), 0.1)
    if type(built) is not Transformer:
        fast.switch_on(loss)
    torch.testing.assert_close(built(SOURCE, TARGET), plain.model(SOURCE, TARGET))
    results = [module(*BATCH) for module in (loss, plain)]
    torch.testing.assert_close(*results)
    gradients = [torch.autograd.grad(module(*BATCH), list(module.parameters())) for module in (loss, plain)]
    for mine, other in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 24], ids=["few sentences", "many"])
@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_searches_find_the_same(built, search, rows):
    source = torch.cat([SOURCE, torch.full((1, 5), PAD)]).repeat(rows, 1)
    for seed in range(3):
        weights = model(seed).state_dict()
        built.load_state_dict(weights)
        found, expected = (search(transformer.eval(), source, BOS, EOS, 12) for transformer in (built, model(seed)))
        if search is greedy_search:
            assert torch.equal(found, expected)
            continue
        for mine, other in zip(found, expected, strict=True):
            assert [hypothesis.ids for hypothesis in mine] == [hypothesis.ids for hypothesis in other]
            assert all(abs(a.log_prob - b.log_prob) < 1e-4 for a, b in zip(mine, other, strict=True))


def test_weights_that_change_between_searches_are_used(built):
    source = SOURCE.repeat(8, 1)
    greedy_search(built.eval(), source, BOS, EOS, 8)
    other = model(7)
    for mine, theirs in zip(built.parameters(), other.parameters(), strict=True):
        mine.data.copy_(theirs.data)  # leaves no trace that PyTorch could report
    assert torch.equal(greedy_search(built, source, BOS, EOS, 8), greedy_search(other.eval(), source, BOS, EOS, 8))


def test_a_projection_of_another_kind_is_not_joined_with_the_others(built):
    expected = model().eval()
    for transformer in (built.eval(), expected):
        transformer.decoder.layers[0].self_attention.key_projection = nn.Linear(32, 32, bias=False)
    expected.load_state_dict(built.state_dict())
    fast.switch_on(built)
    found, wanted = (greedy_search(transformer, SOURCE.repeat(8, 1), BOS, EOS, 8) for transformer in (built, expected))
    assert torch.equal(found, wanted)


def test_an_attention_of_ones_own_function_calls_it(monkeypatch, build):
    monkeypatch.setattr("transformer_edu.fast.dropout.LARGE", 1)
    built = build(dropout=0.1).train()
    attention = built.decoder.layers[0].cross_attention
    attention.function = lambda q, k, v, *_: (torch.zeros_like(q), None)
    x, memory = torch.randn(2, 3, 32), torch.randn(2, 4, 32)
    for mode in (True, False):
        seen = attention.train(mode)(x, memory, memory)
        assert torch.equal(seen, attention.output_projection.bias.expand_as(seen))
    calls = []
    attention.function = lambda q, k, v, *_: calls.append(1) or (torch.zeros_like(q), None)
    greedy_search(built.eval(), SOURCE, BOS, EOS, 4)
    assert len(calls) >= 2, "in a search as well"


@pytest.mark.parametrize("part", ["", "decoder.layers.0.self_attention.query_projection", "projection.linear"])
def test_hooks_are_called_in_a_search_and_in_training(built, part):
    calls = []
    built.get_submodule(part).register_forward_hook(lambda *_: calls.append("forward"))
    greedy_search(built.eval(), SOURCE.repeat(8, 1), BOS, EOS, 6)
    in_search, loss = len(calls), SummedLoss(built, 0.1)
    assert in_search >= (2 if part else 0)
    (fast.switch_on(loss) if type(built) is not Transformer else loss)(*BATCH)
    built(SOURCE, TARGET)
    assert len(calls) > in_search


def test_attention_and_activations_are_recorded_in_a_search(built):
    seen = []
    for transformer in (built.eval(), model().eval()):
        with record_attention(transformer) as maps, record_activations(transformer) as activations:
            beam_search(transformer, SOURCE.repeat(6, 1), BOS, EOS, 6)
        seen.append({**maps, **{f"activation {name}": value for name, value in activations.items()}})
    assert seen[0].keys() == seen[1].keys()
    for name in seen[0]:
        torch.testing.assert_close(seen[0][name], seen[1][name], rtol=1e-4, atol=1e-5)


def pickled(module):
    return pickle.loads(pickle.dumps(module))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_copies_compute_the_same_and_share_nothing(built, duplicate):
    other = duplicate(built)
    assert type(other) is type(built)
    assert torch.equal(other(SOURCE, TARGET), built(SOURCE, TARGET))
    assert other.projection.linear.weight is other.source_embedding.lookup.weight, "still tied"
    nn.init.zeros_(other.projection.linear.weight)
    torch.testing.assert_close(built(SOURCE, TARGET), model()(SOURCE, TARGET))


def derivatives(transformer):
    weights = dict(transformer.named_parameters())
    weight = transformer.encoder.layers[0].feed_forward.expand.weight
    with sdpa_kernel(SDPBackend.MATH):  # PyTorch's flash kernel has no second derivative
        (first,) = torch.autograd.grad(transformer(SOURCE, TARGET).pow(2).sum(), weight, create_graph=True)
        (second,) = torch.autograd.grad(first.pow(2).sum(), weight)
        of_each = vmap(grad(lambda w, *ids: functional_call(transformer, w, ids).pow(2).mean()), (None, 0, 0))
        gradients = of_each(weights, SOURCE[:, None], TARGET[:, None])
    return [derivative.detach() for derivative in (second, *gradients.values())]


def ids(*shape):
    return torch.randint(1, 12, shape)


@pytest.mark.parametrize("build", ["off", "on"], indirect=True)
def test_compiled_and_exported_it_takes_any_batch_and_any_lengths(build):
    built, plain = build(num_layers=1).eval(), model(num_layers=1).eval()  # tracing takes its time for each layer
    compiled = torch.compile(built, backend="aot_eager")
    torch.testing.assert_close(compiled(SOURCE, TARGET), plain(SOURCE, TARGET))
    batch, read, written = (torch.export.Dim(name, max=40) for name in ("batch", "source_seq", "seq"))
    shapes = ({0: batch, 1: read}, {0: batch, 1: written})
    program = torch.export.export(built, (ids(3, 17), ids(3, 19)), dynamic_shapes=shapes).module()
    for source, target in [(ids(2, 7), ids(2, 5)), (ids(20, 17), ids(20, 2)), (ids(5, 20), ids(5, 20))]:
        source[:, -1] = PAD
        torch.testing.assert_close(program(source, target), plain(source, target), rtol=1e-4, atol=1e-4)


def test_it_can_be_differentiated_twice_and_transformed(built):
    for mine, other in zip(derivatives(built), derivatives(model()), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=max(1e-3 * float(other.abs().max()), 1e-6))


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_a_search_keeps_no_history_unless_somebody_looks_who_may_train_on_it(built, search, monkeypatch):
    without, seen, linear = [], [], nn.functional.linear
    note = lambda *given: without.append(torch.is_inference_mode_enabled()) or linear(*given)  # noqa: E731
    monkeypatch.setattr(nn.functional, "linear", note)
    search(built.eval(), SOURCE, BOS, EOS, 6)
    assert any(without) == (type(built) is not Transformer)
    without.clear()
    built.decoder.layers[0].register_forward_hook(lambda part, given, answer: seen.append(answer))
    search(built, SOURCE, BOS, EOS, 6)
    assert not any(without)
    assert not any(answer.requires_grad for answer in seen)
    nn.Linear(32, 2)(seen[0]).sum().backward()

"""Models of other families: searched, cached, saved, moved, recorded as the paper's is; each sees what it may."""

import copy

import pytest
import torch
import torch.nn.functional as F

import transformer_edu as te
from transformer_edu.models import (
    BERT,
    GPT,
    T5,
    BERTConfig,
    GPTConfig,
    Llama,
    LlamaConfig,
    Marian,
    MarianConfig,
    T5Config,
    ViT,
    ViTConfig,
)
from transformer_edu.training import load_model, save_model

pytestmark = pytest.mark.usefixtures("at_readers_speed")
SIZES = {"d_model": 16, "num_heads": 4, "d_ff": 24, "num_layers": 2, "dropout": 0.0}
IDS = torch.tensor([[3, 4, 5, 6, 7, 2], [8, 3, 9, 4, 5, 6]])
PADDED = torch.tensor([[3, 4, 5, 6, 7, 2], [8, 3, 9, 0, 0, 0]])
MODELS = {
    "GPT": (GPT, GPTConfig(11, max_len=30, pad_id=0, **SIZES)),
    "GPT without padding": (GPT, GPTConfig(11, max_len=30, **SIZES)),
    "Llama": (Llama, LlamaConfig(11, num_kv_heads=2, d_head=6, max_len=30, pad_id=0, **SIZES)),
    "Llama, other settings": (
        Llama,
        LlamaConfig(
            11,
            num_kv_heads=1,
            pad_id=0,
            d_head=8,
            max_len=30,
            scaling="yarn",
            factor=2.0,
            trained=8,
            norms="both",
            query_key_norm="head",
            window=3,
            full_every=2,
            activation="gelu_tanh",
            tied=True,
            scaled=True,
            **SIZES,
        ),
    ),
    "BERT": (BERT, BERTConfig(11, max_len=30, **SIZES)),
    "T5": (T5, T5Config(11, max_len=30, num_buckets=8, max_distance=6, **SIZES)),
    "T5, gated": (T5, T5Config(11, max_len=30, feed_forward="gated", tied=False, divided=False, **SIZES)),
    "Marian": (Marian, MarianConfig(11, max_len=30, pad_id=0, **SIZES)),
    "ViT": (ViT, ViTConfig(5, 12, 4, **SIZES)),
}
WRITE = ["GPT", "Llama", "Llama, other settings", "T5", "T5, gated", "Marian"]


def made(name):
    torch.manual_seed(0)
    kind, config = MODELS[name]
    return kind(config).eval()


def output(model):
    if isinstance(model, ViT):
        return model(torch.linspace(-1, 1, 864).reshape(2, 3, 12, 12))
    return model(PADDED, IDS) if hasattr(model, "encode") and not isinstance(model, BERT) else model(PADDED)


def step_by_step(model, chunks):
    cache = model.start_cache()
    if isinstance(model, GPT):
        return torch.cat([model(ids, cache) for ids in IDS.split(chunks, dim=1)], dim=1)
    memory = model.encode(PADDED)
    return torch.cat([model.project(model.decode(ids, memory, PADDED, cache)) for ids in IDS.split(chunks, 1)], dim=1)


@pytest.mark.parametrize("name", WRITE)
@pytest.mark.parametrize("chunks", [[1] * 6, [4, 2]])
def test_step_by_step_it_writes_what_it_writes_at_once(name, chunks):
    model = made(name)
    whole = model(IDS) if isinstance(model, GPT) else model(PADDED, IDS)
    torch.testing.assert_close(step_by_step(model, chunks), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", WRITE)
def test_every_search_takes_it(name):
    model = made(name)
    ids = te.greedy_search(model, IDS, 1, 2, 9)
    best = te.beam_search(model, IDS, 1, 2, 9, beam_size=1, length_penalty=0.0)
    for row, (hypothesis,) in zip(ids.tolist(), best, strict=True):
        assert tuple(row[: len(hypothesis.ids)]) == hypothesis.ids
    drawn = te.sample(model, IDS, 1, 2, 9, generator=torch.Generator().manual_seed(0))
    assert drawn.shape[0] == 2
    assert set(drawn[:, 0].tolist()) == {1}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_saved_copied_and_cast_with_its_shared_matrices(name, tmp_path):
    model = made(name)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.config == model.config
    torch.testing.assert_close(output(loaded), output(model), rtol=0, atol=0)
    for other in (loaded, copy.deepcopy(model), made(name).double(), made(name).to_empty(device="cpu")):
        assert len(list(other.parameters())) == len(list(model.parameters()))


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_gets_a_gradient_and_every_attention_is_recorded(name):
    model = made(name).train()
    output(model).square().sum().backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == []
    with te.record_attention(model.eval()) as maps:
        output(model)
    assert len(maps) == (6 if isinstance(model, T5 | Marian) else 2)


@pytest.mark.parametrize(("name", "sees_later"), [("GPT", False), ("BERT", True)])
def test_who_sees_what_comes_later(name, sees_later):
    model = made(name)
    other = IDS.clone()
    other[:, -1] = 10
    changed = (model(IDS) != model(other)).any(dim=-1)
    assert changed[:, -1].all()
    assert bool(changed[:, :-1].any()) is sees_later


@pytest.mark.parametrize("name", ["GPT", "BERT"])
def test_padding_changes_nothing_for_what_is_none(name):
    model = made(name)
    torch.testing.assert_close(model(PADDED)[1, :3], model(PADDED[1:, :3])[0], rtol=0, atol=1e-6)


def test_patches_are_those_of_a_convolution():
    model = made("ViT")
    images = torch.randn(2, 3, 12, 12)
    weight = model.patch_embedding.weight.reshape(16, 3, 4, 4)
    expected = F.conv2d(images, weight, model.patch_embedding.bias, stride=4).flatten(2).transpose(1, 2)
    torch.testing.assert_close(model.patch_embedding(model.cut(images)), expected)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GPTConfig(11, d_model=10, num_heads=3), "d_model must be divisible by num_heads, got d_model=10"),
        (lambda: GPTConfig(11, pad_id=11), "pad_id must be below vocab_size=11, got 11"),
        (lambda: BERTConfig(11, dropout=1.0), r"dropout must be in \[0, 1\), got 1.0"),
        (lambda: T5Config(11, feed_forward="glu"), "feed_forward must be one of 'relu', 'gated', got 'glu'"),
        (lambda: ViTConfig(image_size=10, patch_size=4), "image_size must be divisible by patch_size"),
        (lambda: GPT(GPTConfig(11, activation="tanh", **SIZES)), "activation must be one of"),
        (lambda: made("GPT")(torch.tensor([[11]])), r"ids must hold ids in 0\.\.10"),
        (
            lambda: made("ViT")(torch.ones(1, 3, 8, 8)),
            r"images must have shape \(batch, 3, 12, 12\), got \(1, 3, 8, 8\)",
        ),
    ],
)
def test_what_cannot_be_is_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_search_needs_an_id_that_fills_up():
    with pytest.raises(TypeError, match=r"config\.pad_id must be a whole number \(int\), got None"):
        te.greedy_search(made("GPT without padding"), IDS, 1, 2, 9)


def test_t5s_distances_share_a_number_the_more_the_further():
    buckets = made("T5").encoder.layers[0].self_attention.positions
    back = torch.arange(-9, 10)[None]
    assert buckets.bucket(back).tolist() == [[7, 7, 7, 7, 7, 7, 6, 6, 5, 0, 1, 2, 2, 3, 3, 3, 3, 3, 3]]
    ahead = made("T5").decoder.layers[0].self_attention.positions
    assert ahead.bucket(back)[0, :10].tolist() == [0] * 10

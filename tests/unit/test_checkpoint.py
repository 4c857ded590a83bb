"""Saved models come back whole, or not at all; their size is known, and bounded, before anything is built."""

import json
import os
from dataclasses import asdict

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from transformer_edu import Transformer, TransformerConfig, build_transformer
from transformer_edu.book.exercises.checks.components.parameter_count import count
from transformer_edu.saving import checkpoint, registry, size, tensor_file
from transformer_edu.saving.size import check_memory, parameter_count
from transformer_edu.saving.tensor_file import write_tensors
from transformer_edu.training import load_model, read_extra, save_model

FORMAT = registry.FORMAT.format("Transformer")
FIELDS = {"d_model": 16, "num_heads": 2, "d_ff": 32, "num_layers": 2, "max_len": 20}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_transformer(11, 11, **FIELDS)


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_loaded_model_computes_the_same_and_stays_tied(tie, norm, tmp_path):
    torch.manual_seed(0)
    model, path = build_transformer(11, 11, **FIELDS, tie_embeddings=tie, norm=norm), tmp_path / "model.safetensors"
    save_model(model, path)
    loaded = load_model(path)
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[1, 7]])
    assert loaded.config == model.config
    assert not loaded.training
    assert torch.equal(loaded(source, target), model.eval()(source, target))
    distinct = {id(parameter): parameter for parameter in model.parameters()}
    assert len(list(loaded.parameters())) == len(distinct)
    with safe_open(path, framework="pt") as file:  # a matrix that is used three times is stored once
        assert sum(file.get_tensor(name).numel() for name in file.keys()) == sum(  # noqa: SIM118
            parameter.numel() for parameter in distinct.values()
        )


def test_saving_twice_gives_the_same_bytes_and_extra_comes_back(model, tmp_path):
    for name in ("a", "b"):
        save_model(model, tmp_path / name, {"seed": 3, "note": "chèvre"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_extra(tmp_path / "a") == {"seed": 3, "note": "chèvre"}


DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "a bit flipped": lambda content: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
    "no header": lambda content: content[:8] + b"?" + content[9:],
    "another size": lambda content: content.replace(b'\\"d_ff\\": 32', b'\\"d_ff\\": 33'),
    "another field": lambda content: content.replace(b'\\"d_ff\\"', b'\\"d_fg\\"'),
    "nothing": lambda _: b"",
    "a text": lambda _: b"no weights here",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_file_is_an_error_that_names_it(model, damage, tmp_path):
    path = tmp_path / "broken.safetensors"
    save_model(model, path)
    content = path.read_bytes()
    path.write_bytes(DAMAGE[damage](content))
    assert path.read_bytes() != content
    with pytest.raises(ValueError, match=r"broken\.safetensors is damaged or of another kind"):
        load_model(path)


def test_somebody_elses_file_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata={"transformer_edu": '{"format": "other/9"}'})
    with pytest.raises(ValueError, match="its format is 'other/9'"):
        load_model(path)


def test_a_file_of_an_unknown_family_is_refused_and_the_known_ones_are_listed(model, tmp_path):
    path, header = tmp_path / "gpt.safetensors", {"config": asdict(model.config), "extra": {}}
    write_tensors(path, checkpoint.distinct_weights(model), header, registry.FORMAT.format("Unheard"))
    with pytest.raises(ValueError, match=r"'transformer_edu\.Unheard/1', expected .*'transformer_edu\.Transformer/1'"):
        load_model(path)


def test_a_name_belongs_to_one_family():
    with pytest.raises(ValueError, match="'Transformer' of TransformerConfig"):
        registry.register("Transformer", dict, torch.nn.Linear)


@pytest.fixture
def nothing_is_built(model, monkeypatch):
    monkeypatch.setattr(Transformer, "__init__", lambda *_: pytest.fail("something was built"))


def write_crafted(model, path, **fields):
    """A file whose checksum is right: the model's own weights under another configuration."""
    config = asdict(model.config) | fields
    write_tensors(path, checkpoint.distinct_weights(model), {"config": config, "extra": {}}, FORMAT)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("num_layers", 10**9, "num_layers=1,000,000,000, but there are tensors of 2 layers"),
        ("num_layers", 10**4000, r"num_layers=more than 2\^13287, but there are tensors of 2 layers"),
        ("d_model", 2 * 10**9, "its tensors hold 11,664 numbers, but .*d_model=2,000,000,000"),
        ("d_ff", 10**23, "its tensors hold 11,664 numbers, but .*d_ff=100,000,000,000,000,000,000,000"),
        ("source_vocab_size", 10**12, "but source_vocab_size=1,000,000,000,000"),
        ("max_len", 10**12, "this machine's memory of .*max_len=1,000,000,000,000"),
        ("num_layers", 2.0, "num_layers must be a whole number"),
        ("d_model", [16], "d_model must be a whole number"),
        ("dropout", 10**400, "dropout must be in"),
        ("norm", ["post"], "norm must be one of 'post', 'pre'"),
        ("layers", 2, "unexpected keyword argument 'layers'"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_crafted_configuration_is_refused_by_name_before_anything_is_built(
    model, nothing_is_built, field, value, expected, tmp_path, as_readers_run_it
):
    write_crafted(model, tmp_path / "crafted.safetensors", **{field: value})
    with pytest.raises(ValueError, match=rf"(?s)crafted\.safetensors is damaged .*{expected}"):
        load_model(tmp_path / "crafted.safetensors")


def test_weights_that_are_no_fractions_are_refused(model, nothing_is_built, tmp_path):
    weights = {name: weight.to(torch.complex64) for name, weight in checkpoint.distinct_weights(model).items()}
    header = {"config": asdict(model.config), "extra": {}}
    write_tensors(tmp_path / "crafted.safetensors", weights, header, FORMAT)
    with pytest.raises(ValueError, match=r"crafted\.safetensors .* must hold floating-point numbers"):
        load_model(tmp_path / "crafted.safetensors")


HEADERS = {
    "null": "null",
    "a list": "[]",
    "a list for the configuration": json.dumps({"format": FORMAT, "config": []}),
    "no configuration": json.dumps({"format": FORMAT}),
    "nested too deeply": "[" * 100_000,
    "NaN": '{"format": "transformer_edu.Transformer/1", "config": {"dropout": NaN}}',
    "a number beyond all floats": '{"format": "transformer_edu.Transformer/1", "config": {"dropout": 1e999}}',
    "a number of too many digits": '{"config": ' + "9" * 5000 + "}",
    "half a character": '{"format": "transformer_edu.Transformer/1", "config": "\\ud800"}',
    "a checksum that is a list": '{"format": "transformer_edu.Transformer/1", "checksum": []}',
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("read", [load_model, read_extra])
def test_any_other_header_is_an_error_that_names_the_file(header, read, tmp_path, monkeypatch):
    path = tmp_path / "crafted.safetensors"
    save_file({"weight": torch.zeros(3)}, path, metadata={tensor_file.KEY: HEADERS[header]})
    with pytest.raises(ValueError, match=r"crafted\.safetensors is damaged or of another kind"):
        read(path)
    monkeypatch.setattr(tensor_file, "_checksum", lambda *_: None)  # as if the checksum were the right one
    with pytest.raises(ValueError, match=r"crafted\.safetensors is damaged or of another kind"):
        read(path)


def test_only_models_and_json_can_be_saved(as_readers_run_it, model, tmp_path):
    with pytest.raises(TypeError, match=r"model must be a Transformer.*, got Linear"):
        save_model(torch.nn.Linear(2, 2), tmp_path / "m")
    with pytest.raises(TypeError, match="extra must hold what JSON can hold"):
        save_model(model, tmp_path / "m", {"tensor": torch.zeros(2)})
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"nothing\.safetensors"):
        load_model(tmp_path / "nothing.safetensors")


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize(
    "norm", [{"norm": "post"}, {"norm": "pre"}, {"final_norm": True}, {"norm": "pre", "final_norm": False}]
)
def test_the_formula_counts_what_the_model_learns(tie, norm):
    config = TransformerConfig(11, 11, **FIELDS, **norm, tie_embeddings=tie)
    with torch.device("meta"):
        model = Transformer(config)
    assert parameter_count(config) == sum(parameter.numel() for parameter in model.parameters())
    assert parameter_count(config) == count(config), "the exercise counts the same"


def test_a_model_that_fits_is_let_through_and_training_needs_more(monkeypatch):
    config = TransformerConfig(1000, 1000)
    check_memory(config)
    monkeypatch.setattr(size, "machine_memory", lambda: parameter_count(config) * 8)
    check_memory(config)
    with pytest.raises(ValueError, match="sizes that need"):
        check_memory(config, bytes_per_parameter=16)


def test_where_the_system_hides_its_memory_only_absurd_sizes_are_refused(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    check_memory(TransformerConfig(37_000, 37_000))
    with pytest.raises(ValueError, match=r"num_layers=100,000,000"):
        check_memory(TransformerConfig(37_000, 37_000, num_layers=10**8))

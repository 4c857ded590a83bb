"""The file of weights that a page computes with; the engine itself is held against PyTorch in tests/browser."""

import base64
import gzip
import hashlib
import re

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import page_file, quantize, read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.engine.source import engine_source
from transformer_edu.book.engine.weights import description, weight_scripts
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.models import GPT, GPTConfig
from transformer_edu.pretrained import load_grammar

WORDS = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])


def small(**options):
    torch.manual_seed(0)
    return build_transformer(6, 7, d_model=8, num_heads=2, d_ff=16, num_layers=2, **options)


@pytest.mark.parametrize("tied", ["none", "target", "all"])
@pytest.mark.parametrize("bits", [16, 8])
def test_a_model_comes_back_but_for_the_rounding(bits, tied):
    model = build_transformer(7, 7, d_model=8, num_heads=2, d_ff=16, num_layers=1, tie_embeddings=tied)
    words = Vocabulary(["x", "y", "z"])
    again, vocabularies = read_page_file(page_file(model, (words, words), bits))
    assert vocabularies == (words, words)
    assert again.config == model.config
    for name, weight in model.state_dict().items():
        step = weight.abs().amax(dim=-1, keepdim=True) * (1 / 127 if bits == 8 else 2**-10)
        assert ((again.state_dict()[name] - weight).abs() <= step / 2 + 1e-7).all(), name


def test_a_row_of_zeros_stays_one_and_the_largest_number_is_exact():
    whole, scale = quantize(torch.tensor([[0.0, 0.0], [1.0, -2.0]]))
    assert whole.dtype == torch.int8
    assert (whole * scale[:, None]).tolist() == [[0.0, 0.0], [pytest.approx(64 * 2 / 127), -2.0]]


def test_a_tokenizer_of_both_languages_goes_into_the_file():
    tokenizer = Tokenizer.train(["the small cat", "die kleine Katze"], vocab_size=280)
    size = len(tokenizer)
    model = build_transformer(size, size, d_model=8, num_heads=2, d_ff=8, num_layers=1, tie_embeddings="all")
    assert read_page_file(page_file(model, tokenizer))[1] == tokenizer


def gpt(tokenizer, **options):
    torch.manual_seed(0)
    return GPT(GPTConfig(len(tokenizer), 8, 2, 16, 2, 0.0, 12, **options))


@pytest.mark.parametrize("bits", [16, 8])
def test_a_gpt_comes_back_with_its_table_tied(bits):
    tokenizer = Tokenizer.train(["the small cat"], vocab_size=270)
    model = gpt(tokenizer, pad_id=0)
    again, words = read_page_file(page_file(model, tokenizer, bits))
    assert (type(again), again.config, words) == (GPT, model.config, tokenizer)
    assert again.projection.linear.weight is again.embedding.weight
    for name, weight in model.state_dict().items():
        step = weight.abs().amax(dim=-1, keepdim=True) * (1 / 127 if bits == 8 else 2**-10)
        assert ((again.state_dict()[name] - weight).abs() <= step / 2 + 1e-7).all(), name


def test_the_files_of_translators_name_no_family():
    """They are known by their checksums."""
    assert b"family" not in page_file(small(), WORDS)
    assert hashlib.sha256(shipped_file("grammar")).hexdigest().startswith("53d758819a6dcbec")


def test_the_shipped_files_are_the_same_every_time_and_lose_nothing():
    shipped_file.cache_clear()
    first = shipped_file("grammar")
    shipped_file.cache_clear()
    assert shipped_file("grammar") == first
    model, _ = read_page_file(first)
    expected = load_grammar().model.state_dict()
    assert all((weight - expected[name]).abs().max() < 2e-3 for name, weight in model.state_dict().items())
    with pytest.raises(
        ValueError, match="name must be one of 'grammar', 'multi30k-de-en', 'stories', 'answering', got 'x'"
    ):
        shipped_file("x")


def test_scripts_hold_the_file_part_by_part(monkeypatch):
    monkeypatch.setattr("transformer_edu.book.engine.weights.PART", 1_000)
    content = page_file(small(), WORDS)
    scripts = weight_scripts(content)
    assert len(scripts) == description(content)["parts"] > 3
    texts = [re.search(r'= "([\w+/=]*)";\n$', text)[1] for text in scripts.values()]
    assert b"".join(gzip.decompress(base64.b64decode(text)) for text in texts) == content
    mark = hashlib.sha256(content).hexdigest()
    assert description(content, "own") == {
        "name": "own",
        "sha256": mark,
        "bytes": len(content),
        "parts": len(scripts),
    }
    assert all(name.startswith(f"model-{mark[:12]}-") for name in scripts)


@pytest.mark.usefixtures("as_readers_run_it")
def test_what_does_not_belong_together_is_refused():
    with pytest.raises(ValueError, match=r"vocabularies must have the model's 6 and 7 tokens, got \(7, 6\)"):
        page_file(small(), WORDS[::-1])
    with pytest.raises(ValueError, match="bits must be one of 16, 8, got 4"):
        page_file(small(), WORDS, bits=4)
    with pytest.raises(TypeError, match="model must be a Transformer or a GPT, got"):
        page_file(torch.nn.Linear(2, 2), WORDS)
    tokenizer = Tokenizer.train(["the small cat"], vocab_size=270)
    with pytest.raises(ValueError, match=r"model.config.activation must be one of 'relu', 'gelu_tanh', got 'gelu'"):
        page_file(gpt(tokenizer, activation="gelu"), tokenizer)
    with pytest.raises(TypeError, match="vocabularies must be a Tokenizer, got tuple"):
        page_file(gpt(tokenizer), WORDS)
    with pytest.raises(ValueError, match=r"vocabularies must have the model's \d+ and \d+ tokens, got"):
        page_file(gpt(tokenizer), Tokenizer.train(["a", "b"], vocab_size=262))
    with pytest.raises(TypeError, match=r"vocabularies\[0\] must be a Vocabulary, got"):
        page_file(small(), (["a", "b"], WORDS[1]))


def test_the_source_is_one_statement_with_nothing_left_to_import():
    source = engine_source()
    assert not re.search(r"^\s*(import|export)\b", source, re.MULTILINE)
    assert {"readModel", "forward", "greedySearch", "beamSearch"} <= set(re.findall(r"(\w+):\(\)=>", source))

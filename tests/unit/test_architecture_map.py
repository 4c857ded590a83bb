"""The architecture map's Python side: the model's numbers, a recording that can be made again, bad input named."""

import gzip
import re
from typing import Any

import pytest
import torch

from transformer_edu import (
    RUNNING_SENTENCE,
    RUNNING_TRANSLATION,
    build_transformer,
    pretrained,
    record_activations,
    record_attention,
    recordings,
)
from transformer_edu.data import Vocabulary
from transformer_edu.experiments.architecture_map import record_architecture_map
from transformer_edu.pretrained import Pretrained
from transformer_edu.widgets import ArchitectureMap, assets, make_figure
from transformer_edu.widgets.architecture_map_data import parameter_counts, path, record_trace

WORDS = Vocabulary(["a", "b", "c"])


def small_translator(**fields: Any) -> Pretrained:
    torch.manual_seed(0)
    settings = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 1, "dropout": 0.0} | fields
    return Pretrained(build_transformer(len(WORDS), len(WORDS), **settings), WORDS, WORDS, {})


def matrix(rows: list[str], scale: int) -> torch.Tensor:
    return torch.tensor([[int(number) / scale for number in row.split()] for row in rows])


def recorded_trace() -> dict[str, Any]:
    return recordings.load("architecture-map")["data"]


def test_recording_holds_what_pytorch_computes() -> None:
    shipped = pretrained.load_grammar()
    source = torch.tensor([shipped.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([shipped.target_vocabulary.encode(RUNNING_TRANSLATION, add_bos=True)])
    with torch.no_grad(), record_activations(shipped.model) as activations, record_attention(shipped.model) as maps:
        logits = shipped.model(source, target)[0]
    trace = recorded_trace()
    for name, rows in trace["activations"].items():
        torch.testing.assert_close(matrix(rows, 100), activations[name][0], atol=0.0051, rtol=0)
    for name, heads in trace["weights"].items():
        for head, weights in zip(heads, maps[name][0], strict=True):
            torch.testing.assert_close(matrix(head, 10_000), weights, atol=6e-5, rtol=0)
    for row, best in zip(logits, trace["candidates"], strict=True):
        values, ids = row.softmax(-1).topk(5)
        assert [one[2] for one in best] == pytest.approx(values.tolist(), abs=1e-4)
        assert [one[1] for one in best] == pytest.approx(row[ids].tolist(), abs=0.006)
        assert best[0][0] == shipped.target_vocabulary.word(int(ids[0]))


def test_recording_can_be_made_again() -> None:
    again, stored = record_architecture_map(), recorded_trace()
    assert again.keys() == stored.keys()
    for key in ("source_tokens", "target_tokens", "sizes", "parameters"):
        assert again[key] == stored[key]
    for name, rows in stored["activations"].items():  # another processor may round the last digit the other way
        torch.testing.assert_close(matrix(again["activations"][name], 1), matrix(rows, 1), atol=1, rtol=0)


def test_every_block_of_the_path_is_recorded_in_the_order_of_computation() -> None:
    translator = small_translator(num_layers=3)
    with record_activations(translator.model) as activations:
        translator.model(torch.tensor([[4, 5]]), torch.tensor([[1, 4]]))
    own = [name for name in activations if not name.endswith("output")]
    assert path(3) == [*own, "softmax"]


def test_counts_sum_to_the_model() -> None:
    counts = recorded_trace()["parameters"]
    model = pretrained.load_grammar().model
    assert sum(counts.values()) == sum(parameter.numel() for parameter in model.parameters()) == 189_568
    assert counts["decoder.1.cross"] == 4 * (64 * 64 + 64)
    assert counts["encoder.positional"] == counts["softmax"] == 0


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_shared_tables_count_once(tie: str) -> None:
    model = small_translator(tie_embeddings=tie).model
    counts = parameter_counts(model)
    assert sum(counts.values()) == sum(parameter.numel() for parameter in model.parameters())
    assert (counts["logits"] == 0) == (tie != "none")


def test_default_state_is_where_the_two_halves_meet() -> None:
    figure = ArchitectureMap()
    assert figure.block == "decoder.1.cross"
    assert figure.trace["target_tokens"][figure.target_token] == "noir"
    assert figure.trace["source_tokens"][figure.source_token] == "black"
    weights = matrix(figure.trace["weights"]["decoder.1.cross"][0], 10_000)
    assert weights[figure.target_token].argmax() == figure.source_token


def test_alt_text_names_the_block_and_the_words() -> None:
    text = ArchitectureMap().alt_text()
    assert "189,568 parameters" in text
    assert "the decoder's cross-attention, layer 2 with 16,640 parameters" in text
    assert "followed are “black” and the position at which “noir” is written" in text
    assert "Open is the softmax with 0" in ArchitectureMap(block="softmax").alt_text()
    text = ArchitectureMap(block="encoder.0.after_feed_forward", target_token=7).alt_text()
    assert "the encoder's add & norm after feed-forward, layer 1 with 128" in text
    assert "“end” is written" in text


def test_a_sentence_is_recorded_live_and_the_model_left_as_it_was() -> None:
    translator = pretrained.load_grammar()
    translator.model.train()
    figure = ArchitectureMap.of_translator(translator, "the black cats sleep", block="encoder.0.self", source_token=2)
    assert translator.model.training
    assert figure.trace["target_tokens"] == ["les", "chats", "noirs", "dorment", "<eos>"]
    assert (figure.source_name, figure.block, figure.source_token) == ("source", "encoder.0.self", 2)
    given = ArchitectureMap.of_translator(translator, "the black cats sleep", "les chats")
    assert given.trace["target_tokens"] == ["les", "chats", "<eos>"]


def test_state_makes_the_same_figure_again() -> None:
    figure = ArchitectureMap.of_translator(small_translator(), "a b", "c a", target_token=1)
    assert make_figure("architecture-map", **figure.state()).html() == figure.html()


def test_figure_adds_at_most_40_kilobytes() -> None:
    own = assets.module_source("architecture-map")[len(assets.core_source()) :]
    styles = (assets.FOLDER / "css" / "architecture-map.css").read_text(encoding="utf-8")
    sizes = [len(gzip.compress(text.encode())) for text in (ArchitectureMap().html(), own, styles)]
    assert sum(sizes) <= 40_000, sizes


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"block": "decoder.2.cross"}, ValueError, "block must be one of 'encoder.embedding'"),
        ({"target_token": 8}, ValueError, "target_token must be from 0 to 7, got 8"),
        ({"source_token": 1.0}, TypeError, "source_token must be a whole number"),
        ({"trace": {"source_tokens": []}}, TypeError, "trace must be a dict with source_tokens"),
        ({"trace": "trace"}, TypeError, "trace must be a dict with source_tokens"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        ArchitectureMap(**options)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source_tokens": ["the"]}, "trace['activations']['encoder.embedding'] must be 1 rows of 64 whole numbers"),
        ({"sizes": {"d_model": 64}}, "the names in trace['sizes'] must be"),
        ({"parameters": {}}, "the blocks of trace['parameters'] must be"),
        ({"activations": {}}, "the blocks of trace['activations'] must be"),
        ({"weights": {}}, "the blocks of trace['weights'] must be"),
        ({"candidates": []}, "trace['candidates'] must have 8 lists, got 0"),
    ],
)
def test_parts_of_a_trace_that_do_not_fit_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        ArchitectureMap(recorded_trace() | changes)


def test_numbers_that_are_none_and_models_too_wide_are_refused() -> None:
    trace = recorded_trace()
    rows = trace["activations"]["encoder.embedding"]
    rows[0] = rows[0].replace(" ", " x", 1)
    with pytest.raises(ValueError, match=re.escape("trace['activations']['encoder.embedding'] must be 7 rows of 64")):
        ArchitectureMap(trace)
    wide = record_trace(small_translator(d_model=256), "a", "b")
    with pytest.raises(ValueError, match="d_model must be at most 128"):
        ArchitectureMap(wide)


@pytest.mark.parametrize(
    ("fields", "source", "target", "error", "words"),
    [
        ({"norm": "pre"}, "a", "b", ValueError, "norms as in the paper's figure 1"),
        ({"final_norm": True}, "a", "b", ValueError, "final_norm=True"),
        ({}, "a dog", "b", ValueError, "source must consist of words that the model knows, got ['dog']"),
        ({}, "a", "", ValueError, "target must be 1 to 23 words, got 0"),
        ({}, " ".join("a" * 25), "b", ValueError, "source must be 1 to 24 words, got 25"),
        ({}, ["a"], "b", TypeError, "source must be a sentence (str)"),
        ({}, 3, None, TypeError, "source must be a sentence (str)"),
    ],
)
@pytest.mark.usefixtures("as_readers_run_it")
def test_what_cannot_be_recorded_is_refused(
    fields: dict[str, Any], source: Any, target: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words)):
        ArchitectureMap.of_translator(small_translator(**fields), source, target)


@pytest.mark.usefixtures("as_readers_run_it")
def test_something_else_than_a_translator_is_refused() -> None:
    with pytest.raises(TypeError, match="translator must have model, source_vocabulary and target_vocabulary"):
        record_trace(object(), "a", "b")
    with pytest.raises(TypeError, match=r"translator\.model must be a Transformer, got Linear"):
        record_trace(Pretrained(torch.nn.Linear(2, 2), WORDS, WORDS, {}), "a", "b")  # type: ignore[arg-type]

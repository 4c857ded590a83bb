"""The attention map as a Python object: real recordings, tensors, and errors that say what is wrong."""

import re

import pytest
import torch
from torch import Tensor

from transformer_edu import RUNNING_SENTENCE, pretrained, record_attention, recordings
from transformer_edu.widgets import AttentionMap, make_figure
from transformer_edu.widgets.attention_map_data import check_maps, first_crossing, mean_row

SOURCE, TARGET = ["the", "cat"], ["le", "chat", "<eos>"]


def random_weights(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)


def maps() -> dict[str, Tensor]:
    return {
        "encoder.0.self": random_weights(2, 2, 2),
        "decoder.0.self": random_weights(2, 3, 3),
        "decoder.0.cross": random_weights(2, 3, 2),
        "decoder.1.cross": random_weights(2, 3, 2),
    }


def test_default_is_the_running_sentence_where_the_word_orders_cross() -> None:
    figure = AttentionMap()
    assert figure.source_tokens == RUNNING_SENTENCE.split()
    assert (figure.attention, figure.layer, figure.head) == ("cross", 1, None)
    assert figure.target_tokens[figure.token] == "noir"
    assert re.search(r"While it writes noir it looks at black (0\.9|1\.0)\d", figure.alt_text())
    assert figure.state() == AttentionMap.of_recording("running-sentence").state()
    assert AttentionMap(head=2, token=0).state() == AttentionMap.of_recording(head=2, token=0).state()


def test_shown_weights_are_those_of_the_shipped_model() -> None:
    shipped = pretrained.load_grammar()
    source = torch.tensor([shipped.source_vocabulary.encode(RUNNING_SENTENCE)])
    target = torch.tensor([shipped.target_vocabulary.encode("le petit chat noir ne dort pas", add_bos=True)])
    with torch.no_grad(), record_attention(shipped.model) as recorded:
        shipped.model(source, target)
    figure = AttentionMap()
    assert figure.maps.keys() == recorded.keys()
    for name, weights in recorded.items():
        torch.testing.assert_close(torch.tensor(figure.maps[name]), weights[0], atol=1e-4, rtol=0)


def test_tensors_become_plain_numbers_and_the_state_makes_the_same_figure() -> None:
    figure = AttentionMap(maps(), SOURCE, TARGET, attention="decoder self", layer=0, head=1, token=2)
    torch.testing.assert_close(
        torch.tensor(figure.maps["decoder.0.cross"]), maps()["decoder.0.cross"], atol=6e-5, rtol=0
    )
    assert make_figure("attention-map", **figure.state()).state() == figure.state()
    assert "While it writes the end it looks at" in figure.alt_text()
    assert "start" in figure.alt_text()


def test_layer_defaults_to_the_last_one_with_that_attention() -> None:
    assert AttentionMap(maps(), SOURCE, TARGET).layer == 1
    assert AttentionMap(maps(), SOURCE, TARGET, attention="encoder self").layer == 0


def test_over_training_holds_every_snapshot_and_shows_the_last() -> None:
    figure = AttentionMap.over_training()
    stored = recordings.load("training-snapshots")["data"]["snapshots"]
    assert [one["step"] for one in figure.snapshots] == [one["step"] for one in stored]
    assert figure.snapshot == len(stored) - 1
    assert figure.snapshots[-1]["maps"] == stored[-1]["cross_attention"]
    assert "after 1000 training steps" in figure.alt_text()
    assert make_figure("attention-map", **figure.state()).state() == figure.state()


def test_a_row_of_zeros_is_a_query_that_may_look_at_nothing() -> None:
    weights = random_weights(1, 3, 2)
    weights[0, 1] = 0
    assert AttentionMap({"decoder.0.cross": weights}, SOURCE, TARGET).maps["decoder.0.cross"][0][1] == [0, 0]


def test_first_crossing_is_where_a_word_looks_left_of_the_word_before() -> None:
    assert first_crossing([[[0.9, 0.1, 0.0], [0.0, 0.1, 0.9], [0.2, 0.7, 0.1]]], None) == 2
    assert first_crossing([[[1.0, 0.0], [0.0, 1.0]]], 0) == 0
    assert mean_row([[[1.0, 0.0]], [[0.5, 0.5]]], None, 0) == [0.75, 0.25]


BAD = {
    "maps must have keys like": {"maps": {"encoder.self": [[[1.0]]]}},
    "must have shape \\(heads, 3, 2\\), from the tokens, got \\(1, 2, 2\\)": {
        "maps": {"decoder.0.cross": random_weights(1, 2, 2)}
    },
    "must hold weights after softmax": {"maps": {"decoder.0.cross": torch.ones(1, 3, 2)}},
    "rows ≥ 0": {"maps": {"decoder.0.cross": torch.tensor([[[1.5, -0.5]] * 3])}},
    "head must be from 0 to 1, got 2": {"head": 2},
    "layer must be one of 0, 1, got 5": {"layer": 5},
    "attention must be one of": {"attention": "sideways"},
    "attention must be one that maps holds": {
        "maps": {"decoder.0.cross": random_weights(1, 3, 2)},
        "attention": "encoder self",
    },
    "token must be from 0 to 2, got 3": {"token": 3},
    "source_tokens must be 1 to 24 strings, got 0": {"source_tokens": []},
    "without the begin token": {"target_tokens": ["<bos>", "le", "chat"]},
    "candidates must have one list for each of the 3": {"candidates": [[["le", 0.9]]]},
    "snapshot must be from 0 to 0, got 4": {"snapshot": 4},
    "snapshots must all hold the same maps": {
        "snapshots": [{"step": step, "maps": {f"decoder.{step}.cross": random_weights(1, 3, 2)}} for step in (0, 1)]
    },
}


@pytest.mark.parametrize("message", BAD)
def test_bad_values_are_named(message: str) -> None:
    given = {"maps": maps(), "source_tokens": SOURCE, "target_tokens": TARGET} | BAD[message]
    with pytest.raises(ValueError, match=message):
        AttentionMap(**given)


def test_a_batch_is_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=r"of a batch take weights\[0\]"):
        AttentionMap({"decoder.0.cross": random_weights(1, 1, 3, 2)}, SOURCE, TARGET)


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="maps must be a dict of attention weights"):
        check_maps("maps", [1], SOURCE, TARGET)
    with pytest.raises(TypeError, match="source_tokens must be a list of strings"):
        AttentionMap(maps())
    with pytest.raises(TypeError, match=r"snapshots\[0\] must be a dict with 'step' and 'maps'"):
        AttentionMap(source_tokens=SOURCE, target_tokens=TARGET, snapshots=[{"step": 3}])
    with pytest.raises(TypeError, match=r"snapshots\[0\]\['step'\] must be a whole number"):
        AttentionMap(source_tokens=SOURCE, target_tokens=TARGET, snapshots=[{"step": 1.5, "maps": maps()}])


def test_recordings_are_found_by_name() -> None:
    assert {"grammar-seeds", "running-sentence", "training-snapshots"} <= set(recordings.names())
    with pytest.raises(ValueError, match=r"name must be one of .*'grammar-seeds', .* got 'no-such'"):
        recordings.load("no-such")
    with pytest.raises(ValueError, match="name must be a recording with 'attention', got 'grammar-seeds'"):
        AttentionMap.of_recording("grammar-seeds")


@pytest.mark.parametrize(
    "own", [{"source_tokens": SOURCE}, {"target_tokens": TARGET}, {"candidates": [[["le", 0.9]]]}, {"snapshot": 0}]
)
def test_words_without_their_weights_are_not_passed_over(own) -> None:
    with pytest.raises(ValueError, match=rf"maps \(or snapshots\) must be given with {next(iter(own))}"):
        AttentionMap(**own)


def test_maps_and_snapshots_are_not_given_both() -> None:
    snapshots = [{"step": 1, "maps": maps()}]
    with pytest.raises(ValueError, match="maps and snapshots must not both be given"):
        AttentionMap(maps(), SOURCE, TARGET, snapshots=snapshots)
    figure = AttentionMap(source_tokens=SOURCE, target_tokens=TARGET, snapshots=snapshots)
    assert make_figure("attention-map", **figure.state()).html() == figure.html()

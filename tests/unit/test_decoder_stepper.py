"""The decoder stepper as a Python object: its recorded branches, and its words."""

import pytest

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, pretrained, recordings
from transformer_edu.widgets import DecoderStepper
from transformer_edu.widgets.decoder_stepper import find_node

pytestmark = pytest.mark.usefixtures("at_readers_speed")
EXAMPLE = {"path": ["la", "petite"], "layer": 0, "source_name": "a"}
BAD = [
    (ValueError, "path must be recorded in the branches, got 'un' after 'le'", {"path": "le un"}),
]
SAYS = [
    ({}, f"The model reads “{RUNNING_SENTENCE}” and has written “le petit chat”. In layer 2 the newest position"),
    ({}, "at the English word black ", "Likeliest next words: noir 0.9"),
    ({"path": f"{RUNNING_TRANSLATION} <eos>"}, f"has written “{RUNNING_TRANSLATION}” and the end token."),
    ({"path": ""}, "has written nothing yet. In layer 2 the newest position, start, looks back most at start 1.00"),
]


def test_all_five_words_can_be_followed_from_every_step_of_the_translation_and_none_moved_an_earlier_output():
    data = recordings.load("decoder-branches")["data"]
    own = [RUNNING_TRANSLATION.split()[:count] for count in range(len(RUNNING_TRANSLATION.split()) + 1)]
    for path in [*own, ["la", "petite"], ["la", "petite", "chat"]]:
        at = find_node(data, path)
        assert len(data["next"][at]) == 5
        for word in data["next"][at]:
            assert find_node(data, [*path, data["words"][word]]) >= 0
    assert 0 <= data["largest_change"] < 1e-5


def test_any_translator_and_sentence():
    shipped = pretrained.load_grammar()
    figure = DecoderStepper.of_translator(shipped, "a red hen sings", also=["le", "une rouge"], path="une rouge")
    assert figure.branches["translation"] == "une poule rouge chante"
    start = figure.branches["more"]["0"]
    assert "le" in [figure.branches["words"][word] for word, _, _ in start]

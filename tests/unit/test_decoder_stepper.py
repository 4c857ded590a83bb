"""The decoder stepper as a Python object: what it opens with, and its words."""

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, build_transformer
from transformer_edu.book.figures import DecoderStepper
from transformer_edu.data.vocabulary import Vocabulary

pytestmark = pytest.mark.usefixtures("at_readers_speed")
EXAMPLE = {"sentence": "a red hen sings", "path": ["une", "rouge"], "layer": 0, "masked": False}
BAD = [
    (
        ValueError,
        "path must consist of words that the model can write, got ['one'] in ['le', 'one']",
        {"path": "le one"},
    ),
    (ValueError, "path must be 0 to 15 strings, got 16", {"path": ["le"] * 16}),
]
SAYS = [
    ({}, f"The model reads “{RUNNING_SENTENCE}” and has written “le petit chat”. In layer 2 the newest position"),
    ({}, "at the English word black ", "Likeliest next words: noir 0.9"),
    ({"path": f"{RUNNING_TRANSLATION} <eos>"}, f"has written “{RUNNING_TRANSLATION}” and the end token."),
    ({"path": ""}, "has written nothing yet. In layer 2 the newest position, start, looks back most at start 1.00"),
    ({"masked": False}, "“le petit chat”. Without the causal mask. In layer 2"),
]


@pytest.mark.parametrize("masked", [True, False])
def test_it_opens_with_every_step_up_to_the_end_and_only_without_the_mask_an_output_moves(masked):
    recorded = DecoderStepper(path="la petite", masked=masked).recorded
    assert recorded["written"][:2] == ["la", "petite"]
    assert recorded["written"][-1] == "<eos>"
    assert len(recorded["steps"]) == len(recorded["written"])
    for count, step in enumerate(recorded["steps"]):
        assert len(step["moved"]) == count
        assert all((far < 1e-5) == masked for far in step["moved"])
        word, p = step["next"][step["taken"][1] - 1] if step["taken"][1] <= 5 else (recorded["written"][count], 0.0)
        assert word == recorded["written"][count]
        assert p in (0.0, step["taken"][0])


def test_a_model_of_ones_own_stops_at_its_last_position():
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=5)
    words = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
    figure = DecoderStepper("a b a", "x y z", model=model, vocabularies=words)
    assert (figure.most, figure.words, figure.path) == (5, ["x", "y", "z"], ["x", "y", "z"])
    assert len(figure.recorded["steps"]) <= 5

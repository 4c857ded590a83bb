"""The decoder stepper as a Python object: what it opens with, and its words."""

import base64

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, RUNNING_TRANSLATION, build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.figures import DecoderStepper
from transformer_edu.book.figures.decoder_stepper import KINDS
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.record import record_attention

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
GO, TYPE = "button Write the next word", "textbox another next word, then Enter"
SCENES = {
    "words appear one by one, or others in their place": [
        "The newest position reads chat",
        f"> {GO}",
        "The 4 rows before it are as they were",
        "~ Written: le petit chat noir. The newest position reads noir.",
        "> button Back; button write noire, probability",
        "You chose noire (0.0048, place 2) in place of noir (0.9490)",
        "> checkbox no mask = on",
        "~ Without the mask, the newest word changed 4 of 4 rows before it",
        "> button Start again; button write noir, probability; key Enter",
        "The newest position reads ne",
    ],
    "it writes until the end token, and then nothing": [
        "> button Erase",
        f"Nothing is written yet. Left alone, the model writes {RUNNING_TRANSLATION}.",
        f"> {'; '.join([GO] * 8)}",
        f"pasend0.9 … the decoder stops: {RUNNING_TRANSLATION}.",
        "> key Enter; key Shift+Tab; key Shift+Tab; key Enter",
        f"the decoder stops: {RUNNING_TRANSLATION}.",
    ],
    "another sentence, as many words of it; and words that no step has offered": [
        "> textbox English sentence = these foxes want a hat",
        "startces0.9 … cesrenards0.9 … renardsveulent0.9 … veulent?",
        f"> checkbox no mask = on; button Erase; {TYPE} = la; key Enter; {TYPE} = petite; key Enter; {TYPE} = chat",
        "~ chat: 0.0",
        "> key Enter",
        "newest word changed 3 of 3 rows before it … startlachosen … lapetite … petitechatchosen",
    ],
    "a word that is none is not written, and sixteen are the most": [
        f"> {TYPE} = <b>zut; key Enter",
        "not one of its 123 words … The newest position reads chat",
        f"> {'; '.join([f'{TYPE} = chat', 'key Enter'] * 15)}",
        "The 15 rows before it",
        "> button Back; key Enter",
        "The 13 rows before it",
    ],
}


@torch.no_grad()
def numbers():
    """The grammar's model, and its passes over each of the beginnings of some words, with the mask and without."""
    figure, passes = DecoderStepper(), []
    model, (english, french) = read_page_file(figure._content)
    for sentence, written in ((RUNNING_SENTENCE, RUNNING_TRANSLATION), ("these foxes want a hat", "la petite chat")):
        for masked in (True, False):
            for count in range(len(written.split()) + 1):
                given = {"source": sentence.split(), "written": written.split()[:count], "masked": masked}
                source = torch.tensor([english.encode(sentence)])
                target = torch.tensor([french.encode(given["written"], add_bos=True)])
                with changed(model, unmasked=not masked), record_attention(model) as maps:
                    output = model.decode(target, model.encode(source), source)
                looks = {name: weights[0, :, -1].mean(dim=0).tolist() for name, weights in maps.items()}  # the newest's
                found = {kind: [looks[f"decoder.{layer}.{kind}"] for layer in (0, 1)] for kind in KINDS}
                found |= {"p": model.project(output)[0, -1].softmax(dim=-1).tolist(), "outputs": output[0].tolist()}
                passes.append(given | found)
    return {"file": base64.b64encode(figure._content).decode(), "state": figure.state(), "passes": passes}


@pytest.mark.parametrize("masked", [True, False])
def test_it_opens_with_every_step_up_to_the_end_and_only_without_the_mask_an_output_moves(masked):
    recorded = DecoderStepper(path="la petite", masked=masked).recorded
    assert (recorded["written"][:2], recorded["written"][-1]) == (["la", "petite"], "<eos>")
    for count, (word, step) in enumerate(zip(recorded["written"], recorded["steps"], strict=True)):
        assert [far < 1e-5 for far in step["moved"]] == [masked] * count
        p, place = step["taken"]
        assert place > 5 or step["next"][place - 1] == [word, p]


def test_a_model_of_ones_own_stops_at_its_last_position():
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=5)
    words = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
    figure = DecoderStepper("a b a", "x y z", model=model, vocabularies=words)
    assert (figure.most, figure.words, figure.path) == (5, ["x", "y", "z"], ["x", "y", "z"])
    assert len(figure.recorded["steps"]) <= 5

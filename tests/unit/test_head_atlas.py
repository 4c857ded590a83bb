"""The head atlas as a Python object: maps, measures and effects of all heads, and models of one's own."""

import base64

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import HeadAtlas
from transformer_edu.book.figures.head_atlas import REDUNDANT, SENTENCE, atlas
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.inspect.head_effects import head_effects
from transformer_edu.inspect.heads import attention_distance, attention_entropy, keys_allowed

OFF = dict.fromkeys(REDUNDANT, "off")
EXAMPLE = {
    "sentence": "the cat sleeps",
    "heads": {"decoder.0.self.1": "uniform"},
    "chosen": "encoder.0.self.2",
    "sort": "entropy",
}
BAD = [
    (ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"}),
    (TypeError, "heads must be a dict", {"heads": ["encoder.0.self.0"]}),
    (ValueError, "heads must be one of 'encoder.0.self.0', ", {"heads": {"encoder.0.cross.0": "off"}}),
    (ValueError, "heads['encoder.0.self.0'] must be one of 'off', 'uniform'", {"heads": {"encoder.0.self.0": "on"}}),
    (ValueError, "chosen must be one of 'encoder.0.self.0', ", {"chosen": "encoder.0.self"}),
]
SAYS = [
    ({}, SENTENCE, "24 small maps", "cross-attention, layer 2, head 2", "mes petites tortues blanches dorment"),
    ({"heads": OFF, "sort": "importance"}, "Changed: ", "mes petits tortues", "in the order of importance"),
]


def numbers():
    """The grammar model's file, and all of its heads at work on three sentences, some of them changed."""
    scenes = [
        (SENTENCE, {}),
        ("my cow sees the red house", {REDUNDANT[0]: "off", "decoder.0.self.0": "uniform"}),
        (SENTENCE, dict.fromkeys(REDUNDANT, "off")),
    ]
    model, vocabularies = read_page_file(shipped_file("grammar"))
    atlases = []
    for sentence, heads in scenes:
        found = atlas(model, vocabularies, sentence.split(), heads)
        maps = {name: torch.tensor(rows) for name, rows in found["maps"].items()}
        may = {name: keys_allowed(name.rpartition(".")[0], rows.shape[-1]) for name, rows in maps.items()}
        entropies = [attention_entropy(rows, may[name]).item() for name, rows in maps.items()]
        distances = [attention_distance(rows).item() for rows in maps.values()]
        atlases.append(found | {"measures": {"entropies": entropies, "distances": distances}})
    return {"file": base64.b64encode(shipped_file("grammar")).decode(), "atlases": atlases}


@pytest.fixture(scope="module")
def grammar():
    return read_page_file(shipped_file("grammar"))


@pytest.mark.long
def test_effects_of_single_heads_are_those_of_head_effects(grammar):
    model, vocabularies = grammar
    found = atlas(model, vocabularies, SENTENCE.split(), {})
    source, target = (
        torch.tensor([vocabulary.encode(words, add_bos=bos, add_eos=bos)])
        for vocabulary, words, bos in zip(vocabularies, (SENTENCE, found["written"][:-1]), (False, True), strict=True)
    )
    assert found["effects"] == pytest.approx(list(head_effects(model, source, target).values()), abs=2e-6)
    assert not any(found["breaks"])


@pytest.mark.long
def test_either_of_two_heads_can_go_but_not_both(grammar):
    def broken(heads):
        found = atlas(*grammar, SENTENCE.split(), heads)
        return [name for name, breaks in zip(found["names"], found["breaks"], strict=True) if breaks]

    one, other = REDUNDANT
    assert (broken({}), broken({one: "off"}), broken({other: "off"})) == ([], [other], [one])
    assert atlas(*grammar, SENTENCE.split(), OFF)["then"][1] == "petits"


def test_a_model_of_ones_own_has_its_own_heads():
    torch.manual_seed(0)
    words = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
    model = build_transformer(6, 7, d_model=8, num_heads=2, d_ff=8, num_layers=1, max_len=30)
    recorded = HeadAtlas("a b a", model=model, vocabularies=words).recorded
    assert recorded["names"][2:] == ["decoder.0.self.0", "decoder.0.self.1", "decoder.0.cross.0", "decoder.0.cross.1"]
    assert len(recorded["written"]) <= 14

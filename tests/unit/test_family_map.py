"""The family map's Python side: each pass is the package's, and what is asked for is not seen."""

import pytest
import torch

from transformer_edu import causal_mask
from transformer_edu.book.figures.family_map import FAMILIES, GAP, SENTENCE, pass_of, walled

EXAMPLE = {"family": "t5", "words": ["a", "cat", "sleeps"], "place": 2}
BAD = [
    (ValueError, "family must be", {"family": "rnn"}),
    (ValueError, "words must be 1 to 10 strings, got 11", {"words": ["a"] * 11}),
    (ValueError, "words must be 1 to 10 strings, got 0", {"words": []}),
    (TypeError, "words must be a list of strings, got 'the cat'", {"words": "the cat"}),
    (ValueError, "place must be from 0 to 6, got 7", {"place": 7}),
]
SAYS = [
    ({}, "asked for cat sees start, the, small, black. 28 of 49 pairs can be seen, and 7 of 7 places are trained"),
    ({"family": "bert"}, "sees the, small, black, [mask], does, not, sleep. 49 of 49 pairs can be seen, and 1 of 7"),
    ({"family": "t5"}, "It reads the small black [X] not sleep start [X] cat does. The place that is asked for cat"),
    ({"family": "prefix"}, "34 of 49 pairs can be seen, and 4 of 7 places are trained"),
]
SCENES = {
    "what stands on both sides is counted": [
        "28 of 49 … 7 of 7 … 3 words before it and 0 after it",
        "> radio BERT",
        "49 of 49 … 1 of 7 … 3 words before it and 3 after it",
        "~ BERT: each place sees both sides",
        "> radio not",
        "5 words before it and 1 after it",
        "> radio T5; radio cat",
        "70 of 100 … 4 of 10 … 3 words before it and 2 after it",
        "> radio prefix",
        "34 of 49 … 4 of 7 … 3 words before it and 0 after it",
    ],
    "one word is enough": [
        {"family": "t5", "words": ["cat"]},
        "cat",
        "> radio GPT",
        "1 of 1",
        "> radio BERT",
        "1 of 1",
    ],
}


def numbers():
    """Each family's pass over sentences of one to ten words, for each of their words."""
    passes = []
    for count in (1, 2, 7, 10):
        words = [f"w{i}" for i in range(count)]
        for family in FAMILIES:
            for place in range(count):
                found = vars(pass_of(words, family, place))
                found["mask"] = found["mask"].int().tolist()
                passes.append({"words": words, "family": family, "place": place} | found)
    return passes


def test_one_wall_makes_all_masks():
    assert torch.equal(walled(6, 0), causal_mask(6))
    assert torch.equal(walled(6, 1), causal_mask(6)), "a wall behind the first word makes a GPT"
    assert walled(6, 6).all(), "a wall at the end makes a BERT"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("place", range(7))
def test_the_word_that_is_asked_for_is_not_among_those_that_are_seen(family, place):
    found = pass_of(list(SENTENCE), family, place)
    assert len(found.inputs) == len(found.targets) == len(found.mask)
    assert found.targets[found.asked] == SENTENCE[place]
    for row, target in enumerate(found.targets):
        seen = [word for word, may in zip(found.inputs, found.mask[row].tolist(), strict=True) if may]
        if target and target != "[X]":
            assert target not in seen


@pytest.mark.parametrize("place", range(7))
def test_gpt_asks_every_place_bert_one_t5_what_it_took_out(place):
    trained = {family: [word for word in pass_of(list(SENTENCE), family, place).targets if word] for family in FAMILIES}
    assert trained["gpt"] == list(SENTENCE)
    assert trained["bert"] == [SENTENCE[place]]
    assert trained["t5"] == ["[X]", *SENTENCE[place : place + GAP], "end"]
    assert trained["prefix"] == list(SENTENCE[place:])

"""The search tree as a Python object: its recording, and the same answers as beam_search."""

import itertools
import math

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.figures import SearchTree
from transformer_edu.book.figures.search_tree import (
    ALPHAS,
    BEAM_SIZES,
    record_search_tree,
    results,
    text_of,
)
from transformer_edu.decoding.beam import beam_search

pytestmark = pytest.mark.usefixtures("at_readers_speed")
TOKENS = ["<pad>", "<bos>", "<eos>", *"abcdefg"]
BOS_ID, EOS_ID, MAX_LEN = 1, 2, 9
SETTINGS = [*itertools.product(BEAM_SIZES, ALPHAS)]
EXAMPLE = {"beam": 3, "alpha": 0.2, "step": 2}
SCORE = math.log(0.4 * 0.9 * 0.45) / (9 / 6) ** 0.6
BAD = [
    (ValueError, "tree must have source, space", {"tree": {}}),
    (TypeError, "tree must be a dict, as record_search_tree makes it, got list", {"tree": [1]}),
    (ValueError, "tree must be given alone, got sentence='a hen sings'", {"tree": {}, "sentence": "a hen sings"}),
    (ValueError, "sentence must be 1 to 9 words, got 10", {"sentence": "the " * 10}),
]
SAYS = [
    ({"sentence": "A red hen sings.", "beam": 5}, "The winner is “une poule rouge chante”, log-probability -0."),
    ({}, "size 2 and length penalty 0.6. The winner is “the cat sleeps”, log-probability -1.82", f"score {SCORE:.2f}"),
    ({}, "Greedy search says “a cat sleeps”, log-probability -2.17."),
]


def small_model(seed):
    """Untrained, but with opinions: its logits are made three times as large."""
    torch.manual_seed(seed)
    model = build_transformer(12, len(TOKENS), d_model=16, num_heads=2, d_ff=32, num_layers=1, max_len=MAX_LEN)
    with torch.no_grad():
        for parameter in model.projection.parameters():
            parameter.mul_(3)
    return model


def tree_of(model, **options):
    return SearchTree.from_model(model, [4, 5, 6], BOS_ID, EOS_ID, TOKENS, MAX_LEN, **options).recorded


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_every_setting_finds_what_beam_search_finds_and_not_all_find_the_same(seed):
    model = small_model(seed)
    tree = tree_of(model)
    assert len({results(tree, beam, alpha)[0].ids for beam, alpha in SETTINGS}) > 1
    for beam, alpha in SETTINGS:
        expected = beam_search(model, torch.tensor([[4, 5, 6]]), BOS_ID, EOS_ID, MAX_LEN, beam, alpha)[0]
        found = results(tree, beam, alpha)
        names = [[tree["tokens"][token] for token in one.ids] for one in found]
        assert names == [[TOKENS[token] for token in one.ids] for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            assert one.score == pytest.approx(other.score, abs=1e-4)


def test_recording_never_chooses_padding_or_the_begin_token_and_leaves_the_mode():
    model = small_model(0).train()
    tree = tree_of(model)
    assert all(part.training for part in model.modules())
    assert tree == tree_of(model.eval())
    assert not {"<pad>", "<bos>"} & {tree["tokens"][token] for row in tree["next"] for token in row}


def test_likeliest_tokens_come_in_order_and_with_the_rest_sum_to_one():
    tree = tree_of(small_model(0))
    log_probs = torch.tensor(tree["log_probs"])
    assert torch.equal(log_probs, log_probs.sort(descending=True).values)
    torch.testing.assert_close(log_probs.exp().sum(dim=1) + torch.tensor(tree["rest"]), torch.ones(len(log_probs)))


def test_a_sentence_that_never_ends_is_cut():
    tree = record_search_tree(lambda prefix: [-math.inf, -math.inf, 0.0], 0, 1, ["<bos>", "<eos>", "a"], 5)
    assert [text_of(tree, one.ids) for one in results(tree, 3, 0.6)] == ["a a a a"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bos_id": 9}, "bos_id must be from 0 to 2, got 9"),
        ({"eos_id": 0}, "bos_id and eos_id must differ, got 0"),
        ({"alphas": [-0.5]}, "alphas must be a finite number"),
        ({"top": 5}, "top must be more than the widest beam, 5, got 5"),
        ({"next_log_probs": lambda prefix: [0.0, 0.0]}, r"must give .* shape \(vocab=3,\).* got shape \(2,\)"),
        ({"next_log_probs": lambda prefix: [0.0, 0.0, 0.7]}, "none above 0, got shape .* largest 0.7"),
        ({"next_log_probs": lambda prefix: [0.0, math.nan, 0.0]}, "next_log_probs must give log-probabilities"),
    ],
)
def test_a_recording_says_what_is_wrong(changes, message):
    given = {"next_log_probs": lambda prefix: [-1.0] * 3, "bos_id": 0, "eos_id": 1, "tokens": ["<bos>", "<eos>", "a"]}
    with pytest.raises(ValueError, match=message):
        record_search_tree(**(given | {"max_len": 4} | changes))

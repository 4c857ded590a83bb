"""The search tree: its recording, the same answers as beam_search, and what a reader finds in it."""

import base64
import itertools
import math

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.figures import SearchTree
from transformer_edu.book.figures.search_tree import (
    ALPHAS,
    BEAM_SIZES,
    HAND_LANGUAGE,
    LONGEST,
    record_search_tree,
    results,
    text_of,
)
from transformer_edu.book.figures.sentence_data import opening
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


def tree_after(rows, max_len, space=""):
    """The tree of a language in which the newest token alone says what follows: rows[token], probabilities."""
    tokens = ["<bos>", "<eos>", *(token for token in rows if token != "<bos>")]

    def next_log_probs(prefix):
        row = rows[tokens[prefix[-1]]]
        return [math.log(row[token]) if token in row else -math.inf for token in tokens]

    return record_search_tree(next_log_probs, 0, 1, tokens, max_len, space=space)


ENDLESS = tree_after({"<bos>": {"a": 1}, "a": {"a": 1}}, 5)
PIECES = tree_after({"<bos>": {"·the": 1}, "·the": {"·cat": 1}, "·cat": {"s": 1}, "s": {"<eos>": 1}}, 6, space="·")
# After "a" the end is likelier (0.5) than "b" (0.45), after which all is certain: worth waiting for if α is 1.
PATIENT = tree_after(
    {"<bos>": {"a": 1}, "a": {"<eos>": 0.5, "b": 0.45, "c": 0.05}, "b": {"c": 1}, "c": {"<eos>": 1}}, 8
)
SCENES = {
    "step by step": [
        "✗black−2.30 … ■endscore −1.43greedy: 0.11beam of 2: 0.16",
        "Winner: the cat sleeps (log-probability −1.82, score −1.43). It is 1.42 times as probable as greedy’s.",
        "((5 + 4) / 6) to the power 0.6 = 1.28 … With α = 0 or 0.2, the cat would win: −1.78, length 3 against 4.",
        "> button To the start",
        "Nothing is written yet. … log-prob.finished",
        "> button Next step; button Next step; button Next step",
        "■ finishedthe cat end … ✓ keptthe cat sleeps … the cat3−1.78−1.50",
        "> button Back",
        "Each step keeps the best 2 … the cat (−1.02) and a cat (−1.66). The best that falls out: a black",
        "✓ keptthe cat0.900−1.02✓ kepta cat0.380−1.66✗ falls outa black0.340−1.77✗ falls outa dog0.280−1.97finished",
        "! greedy: 0.11",
        "~ Beam size 2, alpha 0.6, step 2 of 4. Kept: the cat",
    ],
    "the end stays the end when the setting changes": [
        {"alpha": 0.0, "beam": 1},
        "A beam of 1 is greedy search",
        "> click [aria-label^='Beam size'] [data-value='4']",
        "Winner: the cat (log-probability −1.78, … With α = 0.4 or 0.6 or 0.8 or 1, the cat sleeps would win",
    ],
    "the empty line offers a whole sentence and then words to change it": [
        "> button the small black cat does not sleep",
        "Winner: le petit chat noir ne dort pas",
        "> button dog",
        "Winner: le petit chien noir ne dort pas",
        "> textbox English sentence = the",
        "greedy = beam of 2: < 0.001",
        "> button Start again",
        "Start againthe small black cat does not sleepstart … Winner: the cat sleeps",
    ],
}


def numbers():
    """Trees, recorded and of the translator, with what `beam_search` finds in them, best first."""
    model, sentence = small_model(3), "these foxes want a hat"
    source = torch.tensor([[4, 5, 6]])
    return {
        "hand": SearchTree().recorded,
        "first": HAND_LANGUAGE["<bos>",],
        "crowded": tree_of(small_model(1)),
        **{"endless": ENDLESS, "pieces": PIECES, "patient": PATIENT, "recorded": tree_of(model)},
        "found": [found_by(model, source, MAX_LEN, TOKENS, *setting) for setting in SETTINGS],
        "file": base64.b64encode(opening(sentence).content).decode(),
        "words": sentence.split(),
        "translated": [translated(sentence, *setting) for setting in [(1, 0.0), (2, 1.0), (5, 0.0), (5, 0.6)]],
    }


def translated(sentence, beam, alpha):
    """What the translator's beam search finds."""
    of = opening(sentence)
    french = [of.vocabularies[1].word(index) for index in range(len(of.vocabularies[1]))]
    return found_by(of.model, torch.tensor([of.vocabularies[0].encode(sentence)]), LONGEST, french, beam, alpha)


def found_by(model, source, max_len, tokens, beam, alpha):
    """What beam search finds, best first: text, length, log-probability, score."""
    found = beam_search(model, source, BOS_ID, EOS_ID, max_len, beam, alpha)[0]
    words = [[tokens[token] for token in path.ids if token not in (BOS_ID, EOS_ID)] for path in found]
    ranked = [
        (" ".join(text), len(path.ids) - 1, path.log_prob, path.score) for text, path in zip(words, found, strict=True)
    ]
    return {"beam": beam, "alpha": alpha, "ranked": ranked}


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


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_every_setting_finds_what_beam_search_finds_and_not_all_find_the_same(seed):
    model = small_model(seed)
    tree = tree_of(model)
    assert len({results(tree, beam, alpha)[0].ids for beam, alpha in SETTINGS}) > 1
    for beam, alpha in SETTINGS:
        expected = found_by(model, torch.tensor([[4, 5, 6]]), MAX_LEN, TOKENS, beam, alpha)["ranked"]
        for hypothesis, (text, length, *values) in zip(results(tree, beam, alpha), expected, strict=True):
            assert (text_of(tree, hypothesis.ids), len(hypothesis.ids) - 1) == (text, length)
            assert (hypothesis.log_prob, hypothesis.score) == pytest.approx(values, abs=1e-4)


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
    assert [text_of(ENDLESS, hypothesis.ids) for hypothesis in results(ENDLESS, 3, 0.6)] == ["a a a a"]


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

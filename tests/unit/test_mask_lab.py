"""The mask lab's Python side: its scores, and its alt text against the package's attention."""

import re
from math import isnan

import pytest
import torch

from transformer_edu import causal_mask, padding_mask
from transformer_edu.book.figures import MaskLab
from transformer_edu.book.figures.fields import fields_of
from transformer_edu.book.figures.mask_lab import MISTAKES, attention_of_scores, made_up_scores

PAINTED = ("100000", "110000", "111000", "111100", "111100", "111100")
EXAMPLE = {"kind": "cross", "source_lengths": [3, 5], "sentence": 0, "query": 5, "mistake": "queries"}
BAD = [
    (ValueError, "causal must be False in cross-attention", {"kind": "cross", "causal": True}),
    (ValueError, "kind must be 'decoder', got 'encoder'", {"kind": "encoder", "mistake": "flipped"}),
    (ValueError, "mistake 'after' goes with the masks that belong", {"mistake": "after", "padding": False}),
    (ValueError, "painted must be empty where a mistake is shown", {"painted": PAINTED, "mistake": "blind"}),
    (ValueError, "painted must be 6 strings of 6 signs 0 or 1", {"painted": ("10000x",) * 6}),
    (ValueError, "painted must be 6 strings, got 1", {"painted": ("111111",)}),
    (ValueError, "source_lengths must be from 0 to 6, got 7", {"source_lengths": (7, 2)}),
    (ValueError, "target_lengths must be two whole numbers from 0 to 6", {"target_lengths": (1, 2, 3)}),
    (ValueError, "source must be two lists of 6 strings, got 1", {"source": [["a"] * 6]}),
    (ValueError, "source[1] must be 6 strings, got 1", {"source": [["a"] * 6, ["a"]]}),
    (TypeError, "target[0] must be a list of strings, got 'abcdef'", {"target": ["abcdef", "abcdef"]}),
]
SAYS = [
    *(({"mistake": name}, words) for name, words in MISTAKES.items() if name != "none"),
    ({"padding": False, "causal": False}, "with no mask"),
    ({"painted": ("000000",) * 6}, "with a painted mask. Position 3, chien, looks at <bos> 0.00, le 0.00"),
    ({"kind": "encoder", "source_lengths": (2, 0)}, "<pad> 0.00, <pad> 0.00"),
    ({"kind": "encoder", "source_lengths": (0, 0)}, "Position 1, <pad>, looks at <pad> 0.00."),
]

SCENES = {
    "the reader paints a mask, by click and by key, and is told what it is": [
        "3 of 4 words look ahead",
        "> click [data-matrix=mask] [data-row='0'][data-column='3']",
        "with the mask that you painted … You painted a mask without a name: 5 cells see what comes later.",
        "> key ArrowLeft; key Enter; key ArrowLeft; key Space",
        "2 of 4 words look ahead … 3 cells see what comes later.",
        "> key ArrowDown; key ArrowRight; key Space; key ArrowRight; key Enter; key ArrowDown; key Enter",
        "No leak: each word looks only where it may … You painted both masks in one, causal and padding.",
        "~ You painted both masks in one",
        "> key ArrowLeft; key Space; key ArrowLeft; key Space; key ArrowLeft; key Space",
        "1 of 4 words cannot see all that it may … chien sees nothing, a blind query. chien (position 3) can look",
        "> radio no mask",
        "Each position reads the words that it is to predict.",
    ],
    "a painted mask goes with another kind of attention": [
        {"painted": PAINTED, "query": 1},
        "You painted both masks in one",
        "> radio cross-attention",
        "with the right masks … with the right masks … Each French position may look at every English word",
    ],
    "the sentence on a row, and where padding stands": [
        "> click [data-value=bare]; click [data-matrix=right] [data-row='5'][data-column='0']",
        "Position 6 is padding",
        "> click .te-details summary; slider French 2 = 3; radio sentence 1; checkbox padding in front = on",
        "> button Reset",
        "3 of 4 words look ahead … chien (position 3) looks where it must not",
    ],
}


def numbers():
    """What the package's attention gives under right masks and painted ones, and torch under wrong ones."""
    figure = MaskLab(causal=True, query=2)
    states = [
        {"kind": kind, "padding": padding, "causal": causal, "sentence": sentence, "pad_first": pad_first} | lengths
        for lengths in ({}, {"source_lengths": [5, 2], "target_lengths": [1, 4]})
        for kind, padding, causal in (
            ("encoder", True, False), ("encoder", True, True), ("decoder", True, True), ("decoder", True, False),
            ("decoder", False, True), ("cross", True, False), ("cross", False, False),
        )
        for sentence in (0, 1)
        for pad_first in (False, True)
    ]  # fmt: skip
    return {
        "opened": {name: getattr(figure, name) for name in fields_of(MaskLab)},
        "right": [made(state) for state in states],
        "wrong": [wrong(mistake) for mistake in WRONG],
        "painted": [painted(*case) for case in NAMED],
    }


def sides(kind, lengths, sentence, pad_first):
    """Which of the queries and of the keys are real."""
    french, english = lengths.get("target_lengths", [6, 4]), lengths.get("source_lengths", [6, 4])
    found = []
    for side in (english if kind == "encoder" else french, french if kind == "decoder" else english):
        ids = torch.tensor([[1] * side[sentence] + [0] * (max(side) - side[sentence])])
        found.append(padding_mask(ids.flip(-1) if pad_first else ids, pad_id=0)[0, 0, 0])
    return found


def made(state):
    """The masks that are ticked, and what the book's attention makes of the scores under them."""
    kind, sentence = state["kind"], state["sentence"]
    queries, keys = sides(kind, state, sentence, state["pad_first"])
    scores = scores_of(kind, sentence)[: len(queries), : len(keys)]
    mask = torch.ones(len(queries), len(keys), dtype=torch.bool)
    mask = mask & keys if state["padding"] else mask
    mask = mask & causal_mask(len(keys)) if state["causal"] else mask
    key = {(True, True): "extra", (True, False): "right", (False, False): "bare"}
    if kind == "decoder":
        key = {(True, True): "right", (True, False): "no-causal", (False, True): "no-padding"}
    return {
        "state": state,
        "chosen": key[state["padding"], state["causal"]],
        "mask": mask.int().tolist(),
        "scores": scores.tolist(),
        "masked": scores.masked_fill(~mask, -1e9).tolist(),
        "weights": attention_of_scores(scores, mask).tolist(),
    }


def scores_of(kind, sentence=1):
    return torch.tensor(made_up_scores()[kind][sentence], dtype=torch.float64)


PADS = torch.tensor([True] * 4 + [False] * 2)
CAUSAL = causal_mask(6)
NOT_THIRD = (torch.arange(6) != 2)[:, None]
NAMED = [  # kind, a mask for it, what it is called
    ("decoder", CAUSAL & PADS, "both masks in one, causal and padding"),
    ("decoder", CAUSAL, "a causal mask: it hides what comes later, and not padding"),
    ("decoder", CAUSAL.T & PADS, "a causal mask turned round"),
    ("decoder", PADS.expand(6, 6), "a padding mask: it hides padding"),
    ("decoder", PADS[:, None].expand(6, 6), "a padding mask on queries: it blanks rows and leaves columns open"),
    ("encoder", PADS.expand(6, 6), "a padding mask: it hides padding"),
    ("encoder", CAUSAL & PADS, "both masks in one"),
    ("cross", PADS.expand(6, 6), "a padding mask: it hides padding"),
    ("cross", torch.ones(6, 6, dtype=torch.bool), "no mask"),
]
WRONG = {  # what each mistake computes for a decoder with 4 real tokens of 6; the row without a key is the third
    "bare": lambda scores: scores.softmax(dim=-1),
    "no-padding": lambda scores: attention_of_scores(scores, CAUSAL),
    "no-causal": lambda scores: attention_of_scores(scores, PADS.expand(6, 6)),
    "flipped": lambda scores: attention_of_scores(scores, CAUSAL.T & PADS),
    "after": lambda scores: scores.softmax(dim=-1) * (CAUSAL & PADS),
    "added": lambda scores: (scores + (CAUSAL & PADS)).softmax(dim=-1),
    "queries": lambda scores: attention_of_scores(scores, CAUSAL & PADS[:, None]),
    "blind": lambda scores: scores.masked_fill(~(CAUSAL & PADS & NOT_THIRD), -torch.inf).softmax(dim=-1),
}


def wrong(mistake):
    """A mistake's weights (null: not a number), and the real queries' cells that must not be looked at but are."""
    weights = WRONG[mistake](scores_of("decoder"))
    leaks = (~(CAUSAL & PADS) & (weights > 0))[:4].nonzero().tolist()
    rows = [[None if isnan(weight) else weight for weight in row] for row in weights.tolist()]
    return {"mistake": mistake, "weights": rows, "leaks": leaks}


def painted(kind, mask, name):
    """A mask as it is painted, what the book's attention makes of the scores under it, what it is called."""
    rows = ["".join(map(str, row)) for row in mask.int().tolist()]
    return {"kind": kind, "rows": rows, "name": name, "weights": attention_of_scores(scores_of(kind), mask).tolist()}


def test_attention_of_scores_is_the_softmax_of_the_allowed_ones():
    scores = torch.tensor(made_up_scores()["decoder"][0], dtype=torch.float64)
    mask = causal_mask(6)
    mask[2] = False
    expected = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).nan_to_num(0.0)
    torch.testing.assert_close(attention_of_scores(scores, mask), expected)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("pad_first", [False, True])
def test_alt_text_says_where_the_query_looks(kind, pad_first):
    figure = MaskLab(
        kind, source_lengths=(6, 3), target_lengths=(6, 4), query=4, pad_first=pad_first, causal=kind == "decoder"
    )
    real = 4 if kind == "decoder" else 3
    ids = torch.tensor([[1] * real + [0] * (6 - real)])
    ids = ids.flip(-1) if pad_first else ids
    mask = padding_mask(ids, pad_id=0)[0, 0].expand(6, 6)
    if kind == "decoder":
        mask = mask & causal_mask(6)
    scores = torch.tensor(made_up_scores()[kind][1], dtype=torch.float64)
    said = re.findall(r" (\d\.\d\d)\b", figure.alt_text())
    expected = attention_of_scores(scores, mask)[4].tolist()
    assert [float(number) for number in said] == pytest.approx(expected, abs=5.1e-3)

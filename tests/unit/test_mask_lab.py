"""The mask lab's Python side: its scores, and its alt text against the package's attention."""

import re

import pytest
import torch

from transformer_edu import causal_mask, padding_mask
from transformer_edu.book.figures import MaskLab
from transformer_edu.book.figures.mask_lab import MISTAKES, attention_of_scores, made_up_scores

EXAMPLE = {"kind": "cross", "source_lengths": [3, 5], "sentence": 0, "query": 5, "mistake": "queries"}
BAD = [
    (ValueError, "causal must be False in cross-attention", {"kind": "cross", "causal": True}),
    (ValueError, "kind must be 'decoder', got 'encoder'", {"kind": "encoder", "mistake": "flipped"}),
    (ValueError, "mistake 'after' goes with the masks that belong", {"mistake": "after", "padding": False}),
    (ValueError, "source_lengths must be from 0 to 6, got 7", {"source_lengths": (7, 2)}),
    (ValueError, "target_lengths must be two whole numbers from 0 to 6", {"target_lengths": (1, 2, 3)}),
    (ValueError, "source must be two lists of 6 strings, got 1", {"source": [["a"] * 6]}),
    (ValueError, "source[1] must be 6 strings, got 1", {"source": [["a"] * 6, ["a"]]}),
    (TypeError, "target[0] must be a list of strings, got 'abcdef'", {"target": ["abcdef", "abcdef"]}),
]
SAYS = [
    *(({"mistake": name}, words) for name, words in MISTAKES.items() if name != "none"),
    ({"padding": False, "causal": False}, "with no mask"),
    ({"kind": "encoder", "source_lengths": (2, 0)}, "<pad> 0.00, <pad> 0.00"),
    ({"kind": "encoder", "source_lengths": (0, 0)}, "Position 1, <pad>, looks at <pad> 0.00."),
]


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

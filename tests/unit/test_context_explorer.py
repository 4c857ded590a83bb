"""The context explorer as a Python object: which word it compares, what it opens with, and its words."""

import base64
from types import SimpleNamespace

import pytest
import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer, pretrained
from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import ContextExplorer
from transformer_edu.book.figures.context_explorer import SENTENCES, shared_pairs, vectors_of

EXAMPLE = {"sentence": SENTENCES[3], "other": SENTENCES[4], "also": [SENTENCES[0]], "word": "black", "level": 2}
BAD = [
    (ValueError, "word must be in both sentences, got 'cat'", {"word": "cat"}),
    (ValueError, "pair must be one of [[0, 0], [1, 1]", {"pair": [0, 1]}),
    (ValueError, "also must consist of words that the model knows, got ['zebra']", {"also": ["a zebra"]}),
    (ValueError, "other must be 1 to 12 words, got 0", {"other": " "}),
]
SAYS = [
    ({}, f"word 1 of “{RUNNING_SENTENCE}” and word 1 of “the small black cow does not sleep”", "the level layer 2"),
    ({}, "embedding 1.000, + position 1.000, layer 1 0.9"),
    (EXAMPLE, "The vectors of “black”", "word 3 of “the small black cats do not sleep” and word 2 of"),
]


def numbers():
    """Its state at first, the model's file, all vectors in some sentences, and three words' planes with the points."""
    model, vocabularies = read_page_file(shipped_file("grammar"))
    opened = SimpleNamespace(model=model, vocabularies=vocabularies)
    sentences = [words.split() for words in (*SENTENCES, "my small mice sing")]
    vectors = [vectors_of(opened, words) for words in sentences]
    planes = {}
    for word in ("the", "small", "not"):
        pairs = zip(sentences[:-1], vectors[:-1], strict=True)
        states = [x[:, place] for words, x in pairs for place, token in enumerate(words) if token == word]
        x = torch.stack(states, dim=1).double()
        centred = x - x.mean(dim=1, keepdim=True)
        u, sizes, v = torch.linalg.svd(centred.flatten(0, 1), full_matrices=False)
        sign = u.gather(0, u.abs().argmax(dim=0)[None]).sign().T  # the largest part of an axis counts as positive
        shares = (sizes**2 / (sizes**2).sum())[:2]
        planes[word] = {"points": (centred @ (sign * v)[:2].T).tolist(), "shares": shares.tolist()}
    vectors = [x.tolist() for x in vectors]
    file = base64.b64encode(shipped_file("grammar")).decode()
    return {"opened": ContextExplorer().state(), "file": file, "vectors": vectors, "planes": planes}


@pytest.mark.long
def test_a_word_can_be_named_or_placed():
    longest = SENTENCES[5]
    assert ContextExplorer(other=longest, word="small").pair == [1, 4]
    assert ContextExplorer(other=longest, pair=[0, 3]).pair == [0, 3]
    assert ContextExplorer(longest, longest).pair == [0, 3]
    assert shared_pairs(["the", "cat"], ["the", "dog", "the"]) == [[0, 0], [0, 2]]
    assert shared_pairs(["the", "cat"], ["the", "cat"]) == []


def test_a_model_of_ones_own_with_a_final_norm_has_a_level_for_it():
    shipped = pretrained.load_grammar()
    words = shipped.source_vocabulary, shipped.target_vocabulary
    sizes = [len(vocabulary) for vocabulary in words]
    model = build_transformer(*sizes, d_model=8, num_heads=2, d_ff=16, num_layers=1, norm="pre", max_len=12).eval()
    figure = ContextExplorer("the cat sleeps", "the hen sleeps", (), word="sleeps", model=model, vocabularies=words)
    assert [name for _, name in figure.levels] == ["embedding", "+ position", "layer 1", "final norm"]
    memory = model.encode(torch.tensor([words[0].encode("the hen sleeps")]))[0, 2].detach()
    [[place, vectors]] = figure.readings[1]["vectors"]
    assert place == 2
    torch.testing.assert_close(torch.tensor(vectors[3]) * figure.unit, memory, atol=2e-3, rtol=0)  # 16 bits a weight
    with pytest.raises(ValueError, match="vocabularies"):
        ContextExplorer(model=model)

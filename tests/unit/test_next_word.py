"""The next word as a Python object: what it opens with is what the page's weights give, drawn by the page's luck."""

import pytest
import torch

from tests.stories import small_stories
from transformer_edu.book.engine.page_file import page_file, read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures import NextWord
from transformer_edu.book.figures.next_word import (
    STORED,
    Settings,
    luck_at,
    next_logits,
    recorded_text,
    window_start,
)
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.models import GPT, GPTConfig

EXAMPLE = {"beginning": "Once upon a time, there was a girl", "temperature": 1.2, "top_k": 3, "seed": 4, "place": 2}
BAD = [
    (ValueError, "temperature must be from 0.1 to 2, got 0", {"temperature": 0}),
    (TypeError, "temperature must be a number from 0.1 to 2, got '?'", {"temperature": "?"}),
    (ValueError, "top_k must be from 1 to 40, got 41", {"top_k": 41}),
    (ValueError, "top_p must be from 0.05 to 1, got 1.5", {"top_p": 1.5}),
    (ValueError, "min_p must be from 0 to 0.5, got 0.6", {"min_p": 0.6}),
    (ValueError, "beginning must have 0 to 200 characters, got 201", {"beginning": "a" * 201}),
    (ValueError, "text must be made of whole characters", {"beginning": "a \udcff"}),
    (ValueError, "place must be from 0 to ", {"place": 21}),
    (ValueError, "model and tokenizer must be given together, got model=", {"model": "GPT"}),
]
SAYS = [
    ({}, "A text: Once upon a time, there was a little.", "At temperature 0.8 and top-p 0.95", "Drawn from here"),
    ({"beginning": "", "temperature": 2}, "A text: .", "At temperature 2 "),
]


SETTINGS = [
    Settings(),
    Settings(temperature=1.0, top_p=1.0),
    Settings(temperature=2.0, top_k=7, top_p=1.0),
    Settings(temperature=0.3, top_p=0.4),
    Settings(min_p=0.1, top_p=1.0),
    Settings(temperature=1.4, top_k=40, top_p=0.9, min_p=0.02),
]


def numbers():
    """A recorded text, and at three of its places all logits and what each setting leaves in."""
    model, tokenizer = read_page_file(shipped_file("stories"))
    recorded = recorded_text(shipped_file("stories"), "Once upon a time", Settings())
    start = [BOS_ID, *tokenizer.encode("Once upon a time")]
    places = []
    for place in (0, 3, 9):
        logits = next_logits(model, [*start, *(token_id for token_id, _ in recorded["written"][:place])])
        values, ids = logits.sort(descending=True, stable=True)
        possible = values.isfinite()
        left = []
        for settings in SETTINGS:
            shares = settings.left_in(logits)
            kept = int((shares > 0).sum())
            left.append({"settings": vars(settings), "kept": kept, "shares": shares[ids[:12]].tolist()})
        places.append({"ids": ids[possible].tolist(), "logits": values[possible].tolist(), "left": left})
    return {"recorded": recorded, "places": places}


@pytest.fixture(scope="module")
def content():
    stories = small_stories()
    return page_file(stories.model, stories.tokenizer, bits=8)


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [Settings(), Settings(temperature=1.5, top_k=7, seed=3), Settings(temperature=2.0, top_p=1.0, seed=5)]
)
def test_what_is_stored_are_the_models_probabilities_and_draws_that_luck_may_make(content, settings):
    model, tokenizer = read_page_file(content)
    text = recorded_text(content, "Once upon a time", settings)
    ids = [token_id for token_id, _ in text["written"]]
    assert len(ids) == STORED or ids[-1] == EOS_ID
    assert len(text["places"]) == len(ids) + 1
    for place, found in enumerate(text["places"]):
        logits = next_logits(model, [BOS_ID, *tokenizer.encode("Once upon a time"), *ids[:place]])
        chances = (logits / settings.temperature).softmax(dim=-1)
        left = settings.left_in(logits)
        assert [chance for _, _, chance in found["best"]] == pytest.approx(chances.topk(12).values.tolist(), abs=1e-5)
        assert found["kept"] == int((left > 0).sum())
        assert found["mass"] == pytest.approx(float(chances[left > 0].sum()), abs=1e-5)
        if place < len(ids):
            assert left[ids[place]] > 0
            order = left.sort(descending=True, stable=True).indices.tolist()
            before = float(left[order[: order.index(ids[place])]].sum())
            luck = luck_at(settings.seed, place)
            assert before - 1e-5 <= luck <= before + float(left[ids[place]]) + 1e-5


@pytest.mark.long
def test_padding_and_the_begin_token_never_come(content):
    model, tokenizer = read_page_file(content)
    model.projection.linear.weight.data[[PAD_ID, BOS_ID]] = 100.0
    logits = next_logits(model, [BOS_ID, *tokenizer.encode("a girl")])
    assert logits[[PAD_ID, BOS_ID]].tolist() == [-torch.inf] * 2


@pytest.mark.long
def test_another_seed_is_another_story(content):
    texts = {str(recorded_text(content, "Once upon a time", Settings(temperature=2.0, seed=seed))["written"])
             for seed in range(3)}  # fmt: skip
    assert len(texts) == 3


def test_luck_is_even_and_hangs_on_seed_and_place():
    lucks = [luck_at(seed, place) for seed in range(40) for place in range(40)]
    assert len(set(lucks)) == len(lucks)
    tenths = torch.tensor(lucks).mul(10).long().bincount()
    assert len(tenths) == 10
    assert tenths.min() > 100  # of 160


def test_a_long_text_loses_its_older_half_again_and_again():
    starts = [window_start(length, 8) for length in range(20)]
    assert starts == [0] * 9 + [4] * 4 + [8] * 4 + [12] * 3
    assert [window_start(length, 5) for length in (5, 6, 8, 9)] == [0, 3, 3, 6]


def test_a_model_of_ones_own_is_longer_than_it_sees():
    torch.manual_seed(0)
    own = Tokenizer.train(["a b c", "x y"] * 2, vocab_size=262)
    model = GPT(GPTConfig(len(own), 8, 2, 8, 1, 0.0, 10, pad_id=0))
    figure = NextWord("a b", model=model, tokenizer=own, temperature=2, top_p=1)
    assert figure.model_file["name"] == ""
    assert figure.recorded["max_len"] == 10
    assert figure.written == [token_id for token_id, _ in figure.recorded["written"]]

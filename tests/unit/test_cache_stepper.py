"""The cache stepper as a Python object: its rows are the model's, and its words count them both ways."""

import base64

import pytest
import torch

from transformer_edu import build_transformer
from transformer_edu.book.figures import CacheStepper
from transformer_edu.book.figures.cache_stepper import cached_rows
from transformer_edu.book.figures.sentence_data import opening, translate
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.decoding.cost import cache_size, decoding_cost, step_cost

EXAMPLE = {"sentence": "a red hen sings", "step": 1, "token": 0, "layer": 0, "masked": False, "length": 512}
BAD = [(ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"})]
SAYS = [
    ({"step": 6}, "Step 6 of 8 reads “ne” and writes “dort”. With the cache one row is computed at each step, 6 so"),
    ({"step": 6}, "all rows again, 21 so far. The cache of 2 layers holds 3,328 numbers. The key of “petit”, computed"),
    ({"token": 0}, "Step 8 of 8 reads “pas” and writes “the end”", "The key of “start”, computed again, is the one"),
    ({"masked": False}, "Without the causal mask, keys that are computed again need not be those that were kept."),
]
SCENES = {
    "one row at each step, or all again; without the mask they come out otherwise": [
        "With the cache 8 rows so far, without it 36 … key of petit, kept since step 3 … computed again … = the same",
        "it computes the row of pas alone. Without, the rows of all 8 tokens: 7 of them again",
        "> button Back; checkbox no mask = on",
        "Without the causal mask, 6 of 6 kept rows would be stale … computed again, without the mask … ≠ another",
        "Every token now sees dort, too. Computed again, 6 rows of layer 2 come out otherwise: the cache is stale.",
        "> combobox Key of = 7",
        "pas is not read before step 8.",
        "! ≠ another",
        "> radio layer 1; combobox Key of = 2",
        "0 of 6 kept rows would be stale … = the same … In layer 1 a row is made of its own token and place alone",
        "> textbox English sentence = a red hen sings; click summary >> nth=1; slider steps, n = 512",
        "Step 5 of 5 reads chante and writes end. … n(n + 1)/2 = 131,328 … 256.5 times as many rows without",
        "~ with the cache n = 512. without n(n + 1)/2 = 131,328.",
    ],
    "what it costs is counted step by step, and what it was stays beside it": [
        {"sentence": "the cat sleeps"},
        "4 rows computed 1234 … 10 rows computed 1234",
        "> button Play",
        "4 rows so far, without it 10 … 4 rows computed was 3 … 10 rows computed was 6",
        "> button Back; button Back; button Back",
        "At the first step there is nothing to keep yet … 1 row computed was 2 … 1 row computed was 3",
        "> button Next step; radio layer 1",
        "2 rows so far, without it 3 … 2 rows computed was 1 … 3 rows computed was 1",
        "> textbox English sentence = these foxes want a hat",
        "Step 2 of 6 reads ces",
        "> button Start again; textbox English sentence = the black dog sleeps",
        "15 rows computed was 10 … Step 5 of 5 reads dort and writes end.",
    ],
}


def costs(step):
    """The table of counts: with the cache and without, of this step and so far; and what the cache holds."""
    works = [[work(step, 7, way) for way in (True, False)] for work in (step_cost, decoding_cost)]
    counted = [[getattr(cost, of) for cost in both] for of in ("projected_rows", "scores") for both in works]
    return [*counted, [cache_size(step, 7, 64, 2), 0]]


def tiny():
    """A figure of a model with one layer, which never ends its sentence."""
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=4, d_ff=8, num_layers=1, max_len=40)
    return CacheStepper("a b a", model=model, vocabularies=(Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])))


def numbers():
    """Of three sentences what each row is, kept and computed again, with the model; and what steps cost."""
    figures = [CacheStepper(), CacheStepper("these foxes want a hat"), tiny()]
    runs = [{"file": base64.b64encode(figure._content).decode(), "rows": figure.recorded} for figure in figures]
    rows = {n: [decoding_cost(n, 7, cached=way).target_rows for way in (True, False)] for n in (8, 64, 200, 512)}
    longer = [[n, *both, cache_size(n, 7, 64, 2)] for n, both in rows.items()]
    return {"runs": runs, "costs": [costs(step) for step in range(1, 9)], "longer": longer}


def test_a_row_is_computed_again_as_it_was_kept_and_without_the_mask_it_is_not_from_layer_2_on():
    data = CacheStepper().recorded
    moved = {name: [torch.tensor(step["moved"]) for step in data[name]] for name in ("masked", "unmasked")}
    assert [len(steps) for steps in moved.values()] == [8, 8]
    assert max(step.max() for step in moved["masked"]) < 1e-5
    assert moved["unmasked"][-1][0].max() < 1e-5  # layer 1
    assert (moved["unmasked"][-1][1] > 0.1).tolist() == [True] * 6 + [False] * 2  # *dort* pays *pas* no attention


@torch.no_grad()
def test_the_keys_are_what_the_projection_puts_out():
    opened, seen = opening("a red hen sings"), []
    source, ids = translate(opened.model, opened.vocabularies, opened.words)
    projection = opened.model.decoder.layers[1].self_attention.key_projection
    hook = projection.register_forward_hook(lambda _, x, rows: seen.append(rows[0]))
    opened.model.decode(ids[:, :-1], opened.model.encode(source), source)
    hook.remove()
    torch.testing.assert_close(torch.tensor(cached_rows(opened)["kept"][1]), seen[0][:, :4], atol=2e-5, rtol=0)


@pytest.mark.long
def test_a_model_of_ones_own_stops_after_sixteen_steps():
    figure, kept = tiny(), tiny().recorded["kept"]
    assert (len(kept), len(kept[0]), len(kept[0][0]), figure.step, figure.token) == (1, 16, 4, 16, 2)

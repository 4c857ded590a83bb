"""The cache stepper as a Python object: its rows are the model's, and its words count them both ways."""

import torch

from transformer_edu import RUNNING_SENTENCE, build_transformer
from transformer_edu.book.figures import CacheStepper
from transformer_edu.book.figures.cache_stepper import cached_rows
from transformer_edu.book.figures.sentence_data import opening, translate
from transformer_edu.data.vocabulary import Vocabulary

EXAMPLE = {"sentence": "a red hen sings", "step": 1, "token": 0, "layer": 0, "masked": False, "length": 512}
BAD = [(ValueError, "sentence must consist of words that the model knows, got ['zebra']", {"sentence": "a zebra"})]
SAYS = [
    (
        {"step": 6},
        "Step 6 of 8 reads “ne” and writes “dort”. With the cache one row is computed at each step, 6 so far;",
    ),
    ({"step": 6}, "all rows again, 21 so far. The cache of 2 layers holds 3,328 numbers. The key of “petit”, computed"),
    ({"token": 0}, "Step 8 of 8 reads “pas” and writes “the end”", "The key of “start”, computed again, is the one"),
    ({"masked": False}, "Without the causal mask, keys that are computed again need not be those that were kept."),
]


def test_a_row_is_computed_again_as_it_was_kept_and_without_the_mask_it_is_not_from_layer_2_on():
    data = cached_rows(opening(RUNNING_SENTENCE))
    steps = len(data["reads"])
    assert len(data["masked"]) == len(data["unmasked"]) == steps
    moved = {name: torch.tensor(data[name][-1]["moved"]) for name in ("masked", "unmasked")}
    assert moved["masked"].shape == (2, steps)
    for step in data["masked"]:
        assert torch.tensor(step["moved"]).max() < 1e-5
        for kept, again in zip(data["kept"], step["keys"], strict=True):
            torch.testing.assert_close(torch.tensor(again), torch.tensor(kept[: len(again)]), atol=2e-5, rtol=0)
    assert moved["unmasked"][0].max() < 1e-5  # layer 1
    assert (moved["unmasked"][1] > 0.1).tolist() == [True] * 6 + [False] * 2  # *dort* pays *pas* no attention


@torch.no_grad()
def test_the_keys_are_what_the_projection_puts_out():
    opened, seen = opening("a red hen sings"), []
    source, ids = translate(opened.model, opened.vocabularies, opened.words)
    projection = opened.model.decoder.layers[1].self_attention.key_projection
    hook = projection.register_forward_hook(lambda _, x, rows: seen.append(rows[0]))
    opened.model.decode(ids[:, :-1], opened.model.encode(source), source)
    hook.remove()
    torch.testing.assert_close(torch.tensor(cached_rows(opened)["kept"][1]), seen[0][:, :4], atol=2e-5, rtol=0)


def test_a_model_of_ones_own_stops_after_sixteen_steps():
    torch.manual_seed(0)
    model = build_transformer(6, 7, d_model=8, num_heads=4, d_ff=8, num_layers=1, max_len=40)
    words = Vocabulary(["a", "b"]), Vocabulary(["x", "y", "z"])
    figure = CacheStepper("a b a", model=model, vocabularies=words)
    assert (len(figure.recorded["kept"]), len(figure.recorded["kept"][0][0])) == (1, 4)
    assert 1 <= len(figure.recorded["reads"]) == figure.step <= 16
    assert figure.token == min(2, figure.step - 1)

"""bertviz's views: the same on every run, true to the weights, safe with any token, and clear about bad input."""

import json
import re
import sys

import pytest
import torch

from transformer_edu import build_transformer, record_attention
from transformer_edu.book.figures import bertviz_head_view, bertviz_model_view, bertviz_script

SOURCE, TARGET = ["the", "black", "cat"], ["le", "chat", "noir", "<eos>"]
VIEWS = [bertviz_head_view, bertviz_model_view]
HOSTILE = ["</script><img src=x onerror=alert(1)>", "; // HACK: PYTHON_PARAMS", "<!--<script>"]


def weights(heads, q_len, k_len, seed=0):
    return torch.randn(1, heads, q_len, k_len, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def maps(layers=2, heads=2):
    sizes = {"encoder.{}.self": (3, 3), "decoder.{}.self": (4, 4), "decoder.{}.cross": (4, 3)}
    return {name.format(n): weights(heads, *size, seed=n) for name, size in sizes.items() for n in range(layers)}


def parameters(view):
    stored = json.loads(re.search(r"^const view = (.*);$", view._repr_html_(), re.MULTILINE)[1])
    return stored["params"]


@pytest.mark.parametrize("draw", VIEWS)
def test_two_runs_give_the_same_html_and_the_same_line_of_text(draw):
    one, two = draw(maps(), SOURCE, TARGET), draw(maps(), SOURCE, TARGET)
    assert one._repr_html_() == two._repr_html_()
    kind = "head" if draw is bertviz_head_view else "model"
    kinds = "encoder self-attention, decoder self-attention, cross-attention"
    assert repr(one) == repr(two) == f"<bertviz {kind} view: {kinds}; 2 layers × 2 heads>"


@pytest.mark.parametrize("draw", VIEWS)
def test_differences_below_the_fourth_decimal_do_not_show(draw):
    even = {"encoder.0.self": torch.full((1, 1, 2, 2), 0.5)}
    nearly = {"encoder.0.self": torch.tensor([[[[0.50001, 0.49999], [0.49999, 0.50001]]]])}
    assert draw(even, ["a", "b"]).markup == draw(nearly, ["a", "b"]).markup


@pytest.mark.parametrize("draw", VIEWS)
def test_weights_and_words_of_every_attention_are_there(draw):
    given = maps()
    shown = {entry["name"]: entry for entry in parameters(draw(given, SOURCE, TARGET))["attention"]}
    for title, name in [("encoder self-attention", "encoder.{}.self"), ("cross-attention", "decoder.{}.cross")]:
        expected = torch.cat([given[name.format(layer)] for layer in range(2)])
        assert (torch.tensor(shown[title]["attn"]) - expected).abs().max() <= 6e-5
    assert shown["cross-attention"]["left_text"] == TARGET
    assert shown["cross-attention"]["right_text"] == SOURCE
    assert shown["decoder self-attention"]["right_text"] == ["<bos>", "le", "chat", "noir"]


def test_what_record_attention_collects_can_be_drawn():
    model = build_transformer(10, 10, d_model=8, num_heads=2, d_ff=16, num_layers=1).eval()
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7, 8]]))
    assert "1 layer × 2 heads" in repr(bertviz_model_view(recorded, SOURCE, TARGET))


def test_one_attention_alone_needs_only_its_own_words_and_no_menu():
    view = bertviz_head_view({"encoder.0.self": weights(2, 3, 3)}, SOURCE)
    assert 'id="filter"' not in view.markup
    assert [entry["name"] for entry in parameters(view)["attention"]] == ["encoder self-attention"]


def test_the_first_attention_layer_and_heads_are_chosen():
    view = bertviz_head_view(maps(), SOURCE, TARGET, attention="cross", layer=1, heads=[1])
    chosen = parameters(view)
    assert (chosen["default_filter"], chosen["layer"], chosen["heads"]) == ("2", 2, [1])
    assert '<option value="2" selected>cross-attention</option>' in view.markup


@pytest.mark.parametrize("draw", VIEWS)
def test_tokens_cannot_leave_the_script_which_decides_what_is_loaded_from_where(draw):
    markup = draw({"encoder.0.self": weights(1, 3, 3)[0]}, HOSTILE).markup
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", markup)
    assert "require.min.js" not in markup
    assert markup.count("</script") == 1
    assert "<img" not in markup
    assert "<!--" not in markup.replace("<!--still-->", "", 1)
    assert parameters(draw({"encoder.0.self": weights(1, 3, 3)}, HOSTILE))["attention"][0]["left_text"] == HOSTILE


@pytest.mark.parametrize(
    ("error", "message", "changed"),
    [
        (ValueError, "every layer of the encoder self attention", {"maps": {"encoder.1.self": weights(1, 3, 3)}}),
        (ValueError, "as many layers and heads", {"maps": maps() | {"encoder.2.self": weights(2, 3, 3)}}),
        (ValueError, "as many layers and heads", {"maps": maps() | {"encoder.1.self": weights(3, 3, 3)}}),
        (ValueError, "attention must be one of 'encoder self'.*got 'self'", {"attention": "self"}),
        (TypeError, "of a batch", {"maps": {"encoder.0.self": weights(1, 3, 3).expand(2, 1, 3, 3)}}),
    ],
)
@pytest.mark.parametrize("draw", VIEWS)
@pytest.mark.usefixtures("as_readers_run_it")
def test_bad_input_is_named(draw, error, message, changed):
    with pytest.raises(error, match=message):
        draw(**{"maps": maps(), "source": SOURCE, "target": TARGET} | changed)
    for option, value in (("layer", 2), ("heads", [2]), ("heads", [])):
        with pytest.raises(ValueError, match=f"{option} must"):
            bertviz_head_view(maps(), SOURCE, TARGET, **{option: value})


def test_without_bertviz_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bertviz", None)
    with pytest.raises(ImportError, match="pip install bertviz"):
        bertviz_head_view(maps(), SOURCE, TARGET)


@pytest.mark.parametrize("page", ["", "<script>const params = {}; // HACK\n</script>"])
def test_a_page_of_another_kind_is_refused(page):
    with pytest.raises(RuntimeError, match=r"1\.4\.1 is tested"):
        bertviz_script.split_script(page)

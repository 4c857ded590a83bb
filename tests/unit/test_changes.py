"""A model that is changed for a while: each change against a model built without the part; no trace afterwards."""

import re

import pytest
import torch
from torch import nn

from tests.properties.models import SOURCE, TARGET, small_model, traces
from transformer_edu.inspect.changes import Changes, changed


def difference(model, build, **changes):
    """How far the changed model is from one that `build` changed by hand."""
    with changed(model, **changes):
        found = model(SOURCE, TARGET)
    other = small_model()
    other.load_state_dict(model.state_dict())
    build(other)
    return (found - other(SOURCE, TARGET)).abs().max()


def silence(head, d_head):
    """Zero the columns of an output projection that belong to one head."""

    def build(model):
        weight = model.decoder.layers[0].cross_attention.output_projection.weight
        with torch.no_grad():
            weight[:, head * d_head : (head + 1) * d_head] = 0

    return build


def no_table(model):
    model.positional_encoding.table = torch.zeros_like(model.positional_encoding.table)


def no_norm(model):
    model.encoder.layers[0].self_attention_residual.norm = nn.Identity()


def no_layer(model):
    del model.encoder.layers[1]


def unscaled(model):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "query_projection" in name:
                weight *= (model.config.d_model / model.config.num_heads) ** 0.5


BY_HAND = {
    "a head off": (silence(1, 4), {"heads": {"decoder.0.cross.1": "off"}}),
    "no positions": (no_table, {"source_positions": "off", "target_positions": "off"}),
    "no norm": (no_norm, {"unnormed": ("encoder.0.self",)}),
    "no layer": (no_layer, {"skipped": ("encoder.1",)}),
    "not scaled": (unscaled, {"unscaled": True}),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_change_is_what_one_would_build_by_hand(name):
    build, changes = BY_HAND[name]
    model = small_model()
    before = model(SOURCE, TARGET)
    assert difference(model, build, **changes) < 1e-5
    with changed(model, **changes):
        assert (model(SOURCE, TARGET) - before).abs().max() > 1e-3


def test_afterwards_the_model_is_as_before_also_after_an_error():
    model = small_model()
    before, marks = model(SOURCE, TARGET), traces(model)
    everything = Changes(
        heads={"encoder.0.self.0": "uniform"},
        source_positions="off",
        unmasked=True,
        skipped=("decoder.1",),
        unadded=("encoder.1.self",),
    )

    def fail():
        with changed(model, everything):
            model(SOURCE, TARGET)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert torch.equal(model(SOURCE, TARGET), before)
    assert traces(model) == marks


@pytest.mark.usefixtures("as_readers_run_it")
def test_a_part_that_is_not_there_is_named():
    model = small_model()
    for changes, words in (
        ({"heads": {"encoder.0.self.9": "off"}}, "heads must name parts of the model .*, got encoder.0.self.9"),
        ({"heads": {"encoder.0.self.0": "mean"}}, "heads must be off or uniform, got mean"),
        ({"skipped": ("encoder.0.self",)}, "skipped must name parts of the model .*, got encoder.0.self"),
        ({"blocked": (("decoder.feed_forward", 0, 0),)}, "blocked must name parts .*, got decoder.feed_forward"),
    ):
        with pytest.raises(ValueError, match=words), changed(model, **changes):
            pass
    with pytest.raises(TypeError, match="model must be a Transformer, got"), changed(nn.Linear(1, 1)):
        pass


def test_what_a_page_says_of_changed_models_is_what_they_write(root):
    page = (root / "book/in-the-browser.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    code = re.sub(r"^    (.+?) +# (.+)$", r"    assert \1 == \2", block, flags=re.MULTILINE)
    assert code.count("assert ") == 2
    exec(code, {})

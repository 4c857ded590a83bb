"""The name map names what there is: ours, torch.nn's, and Marian's where `transformers` is installed."""

import re
from pathlib import Path

import pytest
import torch.nn

import transformer_edu
from tests.conftest import ROOT

TEXT = (ROOT / "book" / "name-map.md").read_text(encoding="utf-8")
PIECES = re.findall(r"^(`\w.*)\n: (.*)\.$", TEXT, re.M)
CODE = re.compile(r"`([^`]+)`")
BUILT_IN = {"fc1", "fc2", "embed_scale", "lm_head"}  # attributes of a model, not classes


def named_by(whom):
    """The names that stand behind this label, of all pieces."""
    told = [part for _, others in PIECES for part in others.split("; ") if part.startswith(f"{whom}: ")]
    return [name for part in told for name in CODE.findall(part.removeprefix(whom))]


def found(root, path):
    for part in path.split("."):
        root = getattr(root, part)
    return root


def test_our_names_are_public():
    assert len(PIECES) >= 20
    assert {name for piece, _ in PIECES for name in CODE.findall(piece)} <= set(transformer_edu.__all__)


@pytest.mark.parametrize("name", named_by("`torch.nn`"))
def test_names_of_torch_nn_exist(name):
    assert callable(found(torch.nn, name))


@pytest.mark.long
def test_names_of_marian_exist():
    modeling = pytest.importorskip("transformers.models.marian.modeling_marian")
    source = Path(modeling.__file__).read_text(encoding="utf-8")
    for name in named_by("Marian"):
        attribute = name in BUILT_IN and f"self.{name} =" in source
        assert attribute or hasattr(modeling.MarianMTModel, name) or found(modeling, name)

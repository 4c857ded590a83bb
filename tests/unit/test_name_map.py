"""The name map names what there is: ours, torch.nn's, and Marian's where `transformers` is installed."""

import re
from pathlib import Path

import pytest
import torch.nn

import transformer_edu
from tests.conftest import ROOT

ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in (ROOT / "book" / "name-map.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `")
]
CODE = re.compile(r"`([^`]+)`")
BUILT_IN = {"fc1", "fc2", "embed_scale", "lm_head"}  # attributes of a model, not classes


def names(column):
    return [name for row in ROWS for name in CODE.findall(row[column])]


def found(root, path):
    for part in path.split("."):
        root = getattr(root, part)
    return root


def test_our_names_are_public():
    assert len(ROWS) >= 20
    assert set(names(0)) <= set(transformer_edu.__all__)


@pytest.mark.parametrize("name", names(2))
def test_names_of_torch_nn_exist(name):
    assert callable(found(torch.nn, name))


@pytest.mark.long
def test_names_of_marian_exist():
    modeling = pytest.importorskip("transformers.models.marian.modeling_marian")
    source = Path(modeling.__file__).read_text(encoding="utf-8")
    for name in names(3):
        attribute = name in BUILT_IN and f"self.{name} =" in source
        assert attribute or hasattr(modeling.MarianMTModel, name) or found(modeling, name)

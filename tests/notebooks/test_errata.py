"""The table of the web's mistakes: what a row says a check says, it says; what it links to is a heading."""

import re
import sys

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch
import torch.nn.functional as F
from myst_parser.mdit_to_docutils.base import default_slugify
from torch import nn

from tests.unit.checked import names
from transformer_edu import checks

LINK = r"\[(.*)\]\(\.\./notebooks/(.*)#(.*)\)"
ROW = re.compile(rf"^\| (?!what can be read|---)(.*) \| (.*) \| {LINK} \| ?(.*?) ?\|$", re.MULTILINE)


@pytest.fixture(scope="module")
def rows(root):
    text = (root / "book" / "errata-of-the-web.md").read_text(encoding="utf-8")
    found = ROW.findall(text)
    assert len(found) == len(re.findall(r"(?m)^\| (?!what can be read)", text)) > 40
    return found


@pytest.mark.long
def test_a_check_that_is_named_knows_the_mistake_that_is_named(rows):
    named = [row[-1] for row in rows if row[-1]]
    assert len(named) > 30
    for cell in named:
        check, says = re.fullmatch(r"`(check_\w+)`: (.*)", cell).groups()
        assert any(says in name for name in names(sys.modules[getattr(checks, check).__module__])), (
            f"{check} does not say {says!r}"
        )


def test_every_row_leads_to_a_heading_of_its_chapter(rows, root):
    headings = {}
    for _, _, title, chapter, anchor, _ in rows:
        if chapter not in headings:
            cells = nbformat.read(root / "notebooks" / chapter, as_version=4).cells
            text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
            headings[chapter] = {title: default_slugify(title) for title in re.findall(r"(?m)^#+ (.*)$", text)}
        assert headings[chapter].get(title) == anchor, f"{chapter} has no heading {title!r} with #{anchor}"


def test_the_small_slips_do_what_the_list_says():
    with pytest.raises(TypeError, match="found element of type float") as message:
        nn.Embedding(1e4, 8)
    assert "vocab" not in str(message.value)
    with pytest.raises(IndexError, match="index out of range"):
        nn.Embedding(10, 8)(torch.tensor([999]))
    assert nn.Embedding(10, 8)(torch.tensor([3, 9, 9, 1, 7])).shape == (5, 8), "a sentence of any length"
    with pytest.raises(TypeError):
        F.relu(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError):
        plt.subplot(2, 1)
    plt.close("all")
    exec(compile("assert 10 % 4 == 0", "checked.py", "exec", optimize=1))

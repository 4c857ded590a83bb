"""The GPT on one page is the package's, marks what is new, learns by itself, and its page shows every line of it."""

import re
import subprocess
import sys

import pytest
import torch

from tests.parity.parity import assert_equal
from tests.parity.test_one_page import BOOK, page_of, shown_on
from transformer_edu.models import GPT, GPTConfig

SOURCE = (BOOK / "one_page_gpt.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page():
    return page_of("one_page_gpt")


def renamed(state):
    """The package keeps its blocks in a stack, its positions in a part and its projection in a class."""
    pairs = (
        ("decoder.layers.", "blocks."),
        ("decoder.", ""),
        ("positional_encoding.table", "positions.weight"),
        ("projection.linear.", "projection."),
    )
    for old, new in pairs:
        state = {name.replace(old, new): value for name, value in state.items()}
    return state


@pytest.fixture
def both(page):
    torch.manual_seed(0)
    config = GPTConfig(256, d_model=64, num_heads=4, d_ff=256, num_layers=2, dropout=0.0, max_len=page.CONTEXT)
    package, ours = GPT(config).eval(), page.GPT().eval()
    with torch.no_grad():
        for weight in package.parameters():
            weight.copy_(torch.randn_like(weight) * 0.2)
    ours.load_state_dict(renamed(package.state_dict()))
    return ours, package


@torch.no_grad()
def test_with_the_same_weights_it_computes_what_the_package_computes(both, page):
    ours, package = both
    ids = torch.randint(256, (3, page.CONTEXT))
    assert_equal(ours(ids), package(ids), "logits")


@torch.no_grad()
def test_with_a_cache_it_computes_the_same(both):
    ours, _ = both
    ids, cache = torch.randint(256, (2, 12)), [[] for _ in ours.blocks]
    steps = [ours(part, cache) for part in ids.split([7, 1, 1, 3], dim=1)]
    assert_equal(torch.cat(steps, dim=1), ours(ids), "logits")


@pytest.mark.long
def test_it_writes_beyond_its_context_and_the_same_again(both, page):
    texts = []
    for _ in range(2):
        torch.manual_seed(3)
        texts.append(page.write(both[0], "abc", length=page.CONTEXT + 40))
    assert texts[0] == texts[1]
    assert texts[0].startswith("abc")


@torch.no_grad()
def test_without_temperature_it_takes_the_best_byte_each_time(both, page):
    ours, _ = both
    ids = list(b"The end.")
    for _ in range(5):
        ids.append(int(ours(torch.tensor([ids]))[0, -1].argmax()))
    assert page.write(ours, "The end.", length=5, top_p=1e-6) == bytes(ids).decode(errors="replace")


def test_a_mark_stands_on_the_lines_that_one_page_does_not_have_and_on_no_other():
    known = {line.strip() for line in (BOOK / "one_page.py").read_text(encoding="utf-8").splitlines()}
    for line in SOURCE[SOURCE.index("import math") : SOURCE.index("NAMES =")].splitlines():
        code = line.strip()
        if code and not code.startswith(("#", '"""')):
            bare = code.removesuffix("#+").rstrip()
            assert code.endswith("#+") == (bare not in known), line


@pytest.mark.weekly
@pytest.mark.long
def test_it_learns_its_stories_and_writes_them(tmp_path):
    done = subprocess.run(
        [sys.executable, BOOK / "one_page_gpt.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    bits = [float(found) for found in re.findall(r"(\S+) bits a byte, held out", done.stdout)]
    assert bits[-1] < 0.2 < bits[0]
    assert re.search(r"(\w+) had a (\w+)\. One day the \2 was gone, and s?he was ", done.stdout), done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_it_learns_any_file_of_text(tmp_path, page, monkeypatch, capsys):
    (tmp_path / "text.txt").write_text("ä b c d e f g. " * 40, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["one_page_gpt.py", str(tmp_path / "text.txt")])
    monkeypatch.setattr(page, "train", lambda model, text: None)
    page.main()
    assert capsys.readouterr().out.startswith("ä b c d ")


@pytest.mark.long
def test_too_short_a_text_and_an_empty_prompt(both, page):
    with pytest.raises(AssertionError, match="500 letters are too few"):
        page.train(page.GPT(), "a" * 500)
    assert page.write(both[0], "", length=3).startswith("\n")


def test_the_page_shows_every_line_once_and_in_order():
    page = (BOOK / "one-page-gpt.md").read_text(encoding="utf-8")
    assert shown_on(page, "one_page_gpt") == SOURCE
    assert len(SOURCE.splitlines()) <= 200
    assert max(map(len, SOURCE.splitlines())) <= 80, "what is wider is cut off in its box"

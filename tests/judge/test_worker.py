"""What the process of foreign code does with its order, done in this process: load, observe, tell."""

import json
import sys

import pytest
import torch

from transformer_edu.book.exercises.judge import worker
from transformer_edu.book.exercises.judge.experiment import CONVENTIONS
from transformer_edu.book.exercises.judge.kind import Kind
from transformer_edu.book.exercises.judge.packing import unpack

MASK = "import torch\ndef causal_mask(size):\n    return torch.ones(size, size).tril().bool()\n"
SCALED = "import torch\ndef attention(query, key, value, mask=None):\n    return query @ key.mT @ value\n"


@pytest.fixture
def told(tmp_path, monkeypatch):
    """`told(text, kind)`: the runs and the remarks that the worker hands over for a file with this text."""
    answers = []
    monkeypatch.setattr(worker.sandbox, "lock_down", lambda: ["not in a test"])
    monkeypatch.setattr(worker.sandbox, "answer", answers.append)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own", raising=False)

    def run(text, kind, name=None, adapter=None):
        (tmp_path / "own.py").write_text(text)
        order = {"path": str(tmp_path / "own.py"), "name": name or kind, "kind": kind, "adapter": adapter}
        monkeypatch.setattr(worker.sandbox, "receive", lambda: json.dumps(order).encode())
        worker.main()
        return unpack(answers[-1])

    yield run
    sys.modules.pop("own", None)
    sys.modules.pop("fit", None)


def test_what_was_seen_is_told_and_not_judged(told):
    runs, remarks = told(MASK, "causal_mask")
    assert remarks == {"unprotected": ["not in a test"], "trouble": None}
    assert list(runs) == [""]


def test_a_component_with_a_mask_is_seen_in_each_convention(told):
    runs, remarks = told(SCALED, "attention")
    assert remarks["trouble"] is None
    assert len(runs) == len(CONVENTIONS)


def test_an_adapter_is_loaded_from_its_own_file_and_names_may_be_dotted(told, tmp_path):
    (tmp_path / "fit.py").write_text("def adapt(owner):\n    return owner().mask\n")
    inside = "import torch\nclass Outer:\n    class Masks:\n        def mask(self, size):\n            return size\n"
    _, remarks = told(inside, "causal_mask", "Outer.Masks", [str(tmp_path / "fit.py"), "adapt"])
    assert remarks["trouble"] is None


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("causal_mask = 3", "could not be loaded: TypeError: causal_mask must be a function or a class, got a int"),
        ("def other(): ...", "could not be loaded: AttributeError"),
        ("raise SystemError('no')", "could not be loaded: SystemError: no"),
    ],
)
def test_what_cannot_be_loaded_is_told(told, text, trouble):
    runs, remarks = told(text, "causal_mask")
    assert remarks["trouble"].startswith(trouble)
    assert runs == {}


def test_what_belongs_to_everybody_may_not_be_changed(told):
    kept = torch.allclose
    try:
        runs, remarks = told(
            "import torch\ntorch.allclose = lambda *a: True\ndef causal_mask(size): ...", "causal_mask"
        )
    finally:
        torch.allclose = kept
    assert remarks["trouble"] == "changes what is not its own: torch.allclose"
    assert runs == {}


def test_what_observes_may_not_be_exchanged(told, monkeypatch):
    monkeypatch.setattr(Kind, "observe", Kind.observe)  # put back in the end
    forged = (
        "from transformer_edu.book.exercises.judge.kind import Kind\nreal = Kind.observe\n"
        "Kind.observe = lambda self, target, *given: real(self, next(self.rights(None))[1], *given)\n"
    )
    runs, remarks = told(forged + MASK.replace("tril", "triu"), "causal_mask")
    assert remarks["trouble"] == "changes what is not its own: Kind.observe"
    assert runs == {}

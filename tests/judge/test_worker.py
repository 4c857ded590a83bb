"""What the process of foreign code does, done in this process: load, answer questions, judge nothing."""

import json
import sys

import pytest
import torch

from transformer_edu.book.exercises.judge import worker
from transformer_edu.book.exercises.judge.calculator import Calculator
from transformer_edu.book.exercises.judge.judging import Remote, Troubled
from transformer_edu.book.exercises.judge.kinds import KINDS

MASK = "import torch\ndef causal_mask(size):\n    return torch.ones(size, size).tril().bool()\n"
SCALED = "import torch\ndef attention(query, key, value, mask=None):\n    return query @ key.mT @ value\n"
LINEAR = """from torch import nn
class Norm(nn.Linear):
    def __init__(self, d_model, eps):
        super().__init__(d_model, d_model)
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """`told(text, kind)`: what the worker says of a file with this text, and the component that it answers for."""
    replies = []
    monkeypatch.setattr(worker.sandbox, "lock_down", lambda: ["not in a test"])
    monkeypatch.setattr(worker.sandbox, "converse", replies.append)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own", raising=False)

    def run(text, kind, name=None, adapter=None):
        (tmp_path / "own.py").write_text(text)
        order = {"path": str(tmp_path / "own.py"), "name": name or kind, "kind": kind, "adapter": adapter}
        monkeypatch.setattr(worker.sandbox, "receive", lambda: json.dumps(order).encode())
        worker.main()
        component = Remote(replies[-1])
        return component, component.load()

    yield run
    sys.modules.pop("own", None)
    sys.modules.pop("fit", None)


def test_what_was_seen_is_told_and_not_judged(told):
    component, remarks = told(MASK, "causal_mask")
    assert remarks == {"unprotected": ["not in a test"], "trouble": None}
    seen, parameters = component.observe()
    assert len(seen) == len(KINDS["causal_mask"].experiments)
    assert not parameters.made


def test_a_mask_is_handed_over_in_the_way_that_is_asked_for(told):
    component, _ = told(SCALED, "attention")
    plain = component.masked(3, ("", ""), torch.zeros(0))
    keys = component.masked(3, ("a mask of keys, (batch, k_len)", ""), torch.zeros(0))
    assert len(plain) == len(keys) == len(KINDS["attention"].masked_at(3))
    assert [] != [observation for observation in keys if observation == {}] != keys  # a causal mask is no mask of keys


def test_numbers_go_in_and_answers_and_gradients_come_out(told):
    component, _ = told(LINEAR, "layer_norm", "Norm")
    numbers = torch.arange(12 * 13, dtype=torch.float64) / 100
    answer, gradient = component.look(numbers)
    x = KINDS["layer_norm"].experiments[0].inputs[0].double()
    torch.testing.assert_close(answer, x @ numbers[:144].view(12, 12).T + numbers[144:])
    assert gradient.shape == numbers.shape
    assert component.cut(numbers) == []


def test_what_stops_is_an_error_of_the_code_that_is_judged(told):
    component, _ = told(
        "from torch import nn\nclass Norm(nn.Identity):\n    def forward(self, x): raise KeyError(3)",
        "layer_norm",
        "Norm",
    )
    with pytest.raises(RuntimeError, match="KeyError"):
        component.look(torch.zeros(0))


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
    _, remarks = told(text, "causal_mask")
    assert remarks["trouble"].startswith(trouble)


def test_what_belongs_to_everybody_may_not_be_changed(told):
    kept = torch.allclose
    late = "import torch\ndef causal_mask(size):\n    torch.allclose = print\n    return torch.ones(size, size)\n"
    try:
        assert told("import torch\ntorch.allclose = print\ncausal_mask = print", "causal_mask")[1]["trouble"] == (
            "changes what is not its own: torch.allclose"
        )
        torch.allclose = kept
        with pytest.raises(Troubled, match=r"changes what is not its own: torch\.allclose"):
            told(late, "causal_mask")[0].observe()
    finally:
        torch.allclose = kept


def test_what_observes_may_not_be_exchanged(told, monkeypatch):
    monkeypatch.setattr(Calculator, "observe", Calculator.observe)  # put back in the end
    forged = (
        "from transformer_edu.book.exercises.judge.calculator import Calculator\nCalculator.observe = None\n"
        + MASK.replace("tril", "triu")
    )
    assert told(forged, "causal_mask")[1]["trouble"] == "changes what is not its own: Calculator.observe"

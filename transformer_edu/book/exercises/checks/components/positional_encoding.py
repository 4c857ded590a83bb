"""Checks a module that adds the sinusoidal table to embeddings."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor, gradient_of, made_module
from transformer_edu.positional import PositionalEncoding


def check_positional_encoding(cls: Callable[..., nn.Module], with_offset: bool = True) -> None:
    """Check cls(d_model, max_len=..., dropout=...), whose forward(x, offset=0) adds the table's rows and drops out.

    x is (batch, seq, d_model). `with_offset=False` leaves out the one trial that needs forward's `offset`.
    """
    component = COMPONENT if with_offset else replace(COMPONENT, trials=COMPONENT.trials[:-1])
    component.check(cls=cls)


def _build(cls: Any, d_model: int = 4, max_len: int = 10, dropout: float = 0.0) -> nn.Module:
    return made_module(cls, d_model, max_len=max_len, dropout=dropout)


def _forward(cls: Any, given: dict[str, Any]) -> Any:
    return _build(cls)(*given.values())


def _add(cls: Any, given: dict[str, Any]) -> Tensor:
    return as_tensor(_forward(cls, given))


def _input_afterwards(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    _build(cls)(given["x"])
    return {"x after the call": given["x"]}


def _belongings(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Where the table lives: tensors in plain attributes stay behind when the module moves."""
    module = _build(cls, **given)
    plain = [name for part in module.modules() for name, kept in vars(part).items() if isinstance(kept, Tensor)]
    return {
        "a table in a plain attribute, which .to(device) leaves behind": bool(plain),
        "a parameter, which training would change": any(p.requires_grad for p in module.parameters()),
    }


def _dropout(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What dropout 0.5 does to 200 tokens in training, and in eval mode."""
    module, x = _build(cls, max_len=200, **given), torch.full((1, 200, 4), 100.0)
    in_training = module.train()(x)
    share_zero = float((in_training == 0).float().mean())
    evaluated = module.eval()(x)
    return {
        "about half of the sums are zero in training": 0.35 < share_zero < 0.65,
        "words alone are dropped": bool((in_training.abs() <= 1).any()) and share_zero < 0.35,
        "two passes in training differ": not torch.equal(module.train()(x), module(x)),
        "two passes in eval mode differ": not torch.equal(evaluated, module.eval()(x)),
    }


X = torch.tensor([[[1.0, 1, 1, 1], [2, 2, 2, 2]]])  # one sentence of two tokens, d_model 4

COMPONENT = Component(
    "positional encoding",
    chapter=4,
    reference=PositionalEncoding,
    trials=[
        Trial("two tokens, d_model 4", {"x": X}, _add),
        Trial("two sentences of two tokens", {"x": torch.cat([X, -X])}, _add),
        Trial("x afterwards", {"x": X}, _input_afterwards),
        Trial("what the module holds", {"d_model": 4, "max_len": 10}, _belongings),
        Trial("dropout, two hundred tokens of 100", {"dropout": 0.5}, _dropout),
        Trial("two tokens that stand at positions 3 and 4", {"x": X, "offset": 3}, _add),  # the last needs `offset`
    ],
    gradient=gradient_of("x", call=_forward),
)
mistake = COMPONENT.mistake


class Encoding(PositionalEncoding):
    """The right module, cut into pieces that a mistake can replace."""

    def rows(self, x: Tensor, offset: int) -> Tensor:
        """The rows of the table that belong to x."""
        return self.table[offset : offset + x.shape[1]]

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add and drop out."""
        return self.dropout(x + self.rows(x, offset))


def variant(change: Callable[[Any], None] = lambda module: None, **methods: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes the right module, with other methods or with a change to it."""
    cls: Any = type("Variant", (Encoding,), methods)

    def make(d_model: int, max_len: int = 5000, dropout: float = 0.0) -> nn.Module:
        module = cls(d_model, max_len, dropout)
        change(module)
        return module

    return make


def _kept_in_an_attribute(module: Any) -> None:
    table = module.table
    del module.table
    module.table = table


def _trained(module: Any) -> None:
    table = module.table
    del module.table
    module.table = nn.Parameter(table)


mistake(
    "the table is indexed by the batch, x.size(0), not by the position",
    symptom="all tokens of a sentence get the same row: word order is invisible; another batch size changes results",
    why="x is (batch, seq, d_model); code written for (seq, batch, d_model) counts positions along dimension 0.",
    hint="How many rows does your slice take for one sentence of two tokens?",
)(variant(rows=lambda self, x, offset: self.table[offset : offset + x.size(0)].unsqueeze(1)))
mistake(
    "the table is kept in a plain attribute, not in a buffer",
    symptom="`expected all tensors to be on the same device` after model.to('cuda'); works on the CPU",
    why=".to(device) moves parameters and buffers; it cannot know of other tensors.",
    hint="Which method of nn.Module tells it about a tensor that is no parameter?",
)(variant(change=_kept_in_an_attribute))
mistake(
    "the table is a parameter that training would change",
    symptom="the parameter count is too high by max_len × d_model, and the sinusoids drift in training",
    why="nn.Parameter means 'learn this'; the paper's table follows from a formula.",
    hint="It should move with the module and not be learned. What is such a tensor called in nn.Module?",
)(variant(change=_trained))
mistake(
    "the table is added twice",
    symptom="positions weigh twice as much as they should",
    why="two places add it: for example an `x += ...` and the return line.",
    hint="Follow x through your forward. How often is the table added?",
)(variant(rows=lambda self, x, offset: 2 * Encoding.rows(self, x, offset)))
mistake(
    "the embeddings are multiplied by the table, not added to it",
    symptom="features vanish wherever a sine passes zero: position 0 loses half of every word",
    why="the paper sums the two (section 3.5).",
    hint="What is position 0's row of the table, and what does your operation make of a word there?",
)(variant(forward=lambda self, x, offset=0: self.dropout(x * self.rows(x, offset))))
mistake(
    "the table is returned alone; x is lost",
    symptom="a model that does not react to its input words",
    why="the rows are looked up but never added to the embeddings.",
    hint="Which argument of forward does the return line not use?",
)(variant(forward=lambda self, x, offset=0: self.dropout(self.rows(x, offset).expand_as(x))))
mistake(
    "x is scaled by √d_model here as well",
    symptom="embeddings that are √d_model times too large for their positions, when the embedding scales too",
    why="in this book the embedding multiplies by √d_model; doing it in both places does it twice.",
    hint="With x = 1 and position 0, the first entry should be 1 + sin(0). What is yours?",
)(variant(forward=lambda self, x, offset=0: Encoding.forward(self, x * math.sqrt(x.shape[-1]), offset)))
mistake(
    "`offset` is ignored",
    symptom="decoding step by step gives every new token position 0, so cached and full results differ",
    why="the slice always begins at the table's first row.",
    hint="At which row should the slice begin, and at which should it end?",
)(variant(rows=lambda self, x, offset: self.table[: x.shape[1]]))
mistake(
    "dropout is never applied",
    symptom="`dropout=0.1` changes nothing here; slightly more overfitting than the paper",
    why="the argument is stored, or the layer made, but forward does not call it.",
    hint="The paper (section 5.4) applies dropout to the sums. Where does your forward do so?",
)(variant(forward=lambda self, x, offset=0: x + self.rows(x, offset)))
mistake(
    "dropout stays on in eval mode",
    symptom="two predictions for one sentence differ",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="How does a module know whether it is training, and who tells your dropout?",
)(variant(forward=lambda self, x, offset=0: F.dropout(x + self.rows(x, offset), self.dropout.p)))
mistake(
    "dropout is applied to the table's rows alone, not to the sum",
    symptom="words are never dropped, positions are; weaker regularization than the paper's",
    why="the paper applies dropout to the sums of embeddings and positions (section 5.4).",
    hint="In which order do your addition and your dropout happen?",
)(variant(forward=lambda self, x, offset=0: x + self.dropout(self.rows(x, offset).expand_as(x))))
mistake(
    "dropout is applied to x alone, before the table is added",
    symptom="words are dropped, positions never are; weaker regularization than the paper's",
    why="the paper applies dropout to the sums of embeddings and positions (section 5.4).",
    hint="In which order do your addition and your dropout happen?",
)(variant(forward=lambda self, x, offset=0: self.dropout(x) + self.rows(x, offset)))
mistake(
    "x is changed in place",
    symptom="whoever uses the embeddings again finds positions in them; autograd may complain",
    why="`x += ...` writes into the caller's tensor.",
    hint="`x = x + ...` and `x += ...` look alike. Which of them makes a new tensor?",
)(variant(forward=lambda self, x, offset=0: self.dropout(x.add_(self.rows(x, offset)))))

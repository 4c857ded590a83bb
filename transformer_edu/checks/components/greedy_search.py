"""Checks greedy decoding with a scripted model whose every next token is known beforehand."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer_edu.checks.engine import Component, Trial, need_callable
from transformer_edu.checks.engine.compare import as_tensor
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.transformer import Transformer, TransformerConfig

PAD, BOS, EOS, VOCAB = 0, 1, 2, 10


def check_greedy_search(fn: Callable[..., Tensor]) -> None:
    """Check fn(model, source, bos_id, eos_id, max_len) -> ids (batch, <= max_len); see `greedy_search`."""
    need_callable("fn", fn)
    SEARCH.check(fn)


class Countdown(Transformer):
    """Says the source's first token, then counts down to 3, then ends: source 5 -> 5 4 3 <eos>.

    Padding scores highest everywhere, and <bos> second: a search must choose neither. In training mode it counts
    two at a time, as a stand-in for dropout.
    """

    def __init__(self) -> None:
        super().__init__(TransformerConfig(VOCAB, VOCAB, d_model=VOCAB, num_heads=1, d_ff=1, num_layers=1, dropout=0.0))

    def encode(self, source: Tensor) -> Tensor:
        """The source itself, as if it were a memory: (batch, source_seq, vocab)."""
        return torch.nn.functional.one_hot(source, VOCAB).float()

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: Any = None) -> Tensor:
        """The wanted next token of every position, one-hot: (batch, seq, vocab)."""
        step = 2 if self.training else 1
        following = torch.where(target == BOS, source[:, :1], (target - step).clamp(min=EOS))
        return torch.nn.functional.one_hot(following, VOCAB).float()

    def project(self, x: Tensor) -> Tensor:
        """Logits: 1 for the wanted token, more for <pad> and <bos>."""
        return x + torch.tensor([3.0, 2.0] + [0.0] * (VOCAB - 2))


def _search(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    model = Countdown().train(given["training"])
    ids = as_tensor(fn(model, given["source"], bos_id=BOS, eos_id=EOS, max_len=given["max_len"]), "ids")
    return {"ids": ids, "the model's mode is as before": model.training is given["training"]}


def _trial(title: str, source: list[list[int]], max_len: int, training: bool = False) -> Trial:
    given = {"source": torch.tensor(source), "max_len": max_len, "training": training}
    return Trial(f"{title} (the model counts down; 0 pads, 1 begins, 2 ends)", given, _search)


SEARCH = Component(
    "greedy search",
    reference=greedy_search,
    trials=[
        _trial("one sentence", [[4]], 8),
        _trial("an answer that does not fit", [[9]], 4),
        _trial("two sentences of different length", [[3], [5]], 8),
        _trial("a model in training mode", [[4]], 8, training=True),
    ],
)

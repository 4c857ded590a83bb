"""Checks greedy decoding with a scripted model whose every next token is known beforehand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, as_tensor
from transformer_edu.config import TransformerConfig
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.transformer import Transformer

PAD, BOS, EOS, VOCAB = 0, 1, 2, 10


def check_greedy_search(fn: Callable[..., Tensor]) -> None:
    """Check fn(model, source, bos_id, eos_id, max_len) -> ids (batch, <= max_len); see `greedy_search`."""
    COMPONENT.check(fn=fn)


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


COMPONENT = Component(
    "greedy search",
    chapter=14,
    reference=greedy_search,
    trials=[
        _trial("one sentence", [[4]], 8),
        _trial("an answer that does not fit", [[9]], 4),
        _trial("two sentences of different length", [[3], [5]], 8),
        _trial("a model in training mode", [[4]], 8, training=True),
    ],
)
mistake = COMPONENT.mistake


def search(
    model: Transformer,
    source: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    *,
    banned: tuple[int, ...] = (PAD, BOS),
    stop: str = "all",
    pad_ended: bool = True,
    remembers: bool = True,
    mode: str = "restore",
) -> Tensor:
    """Greedy search; the keywords switch parts of it off, for the mistakes below."""
    training = model.training
    if mode != "leave alone":
        model.eval()
    memory, ids = model.encode(source), torch.full((len(source), 1), bos_id)
    ended = torch.zeros(len(source), dtype=torch.bool)
    while ids.shape[1] < max_len and not (stop == "all" and ended.all()) and not (stop == "any" and ended.any()):
        logits = model.project(model.decode(ids, memory, source))[:, -1].clone()
        logits[:, list(banned)] = -torch.inf
        chosen = logits.argmax(-1)
        chosen = chosen.masked_fill(ended, model.config.pad_id) if pad_ended else chosen
        ids, ended = torch.cat([ids, chosen[:, None]], 1), (ended & remembers) | (chosen == eos_id)
    if mode in ("restore", "train"):
        model.train(training or mode == "train")
    return ids


def _longer(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    return search(model, source, bos_id, eos_id, max_len + 1)


def _without_bos(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    return search(model, source, bos_id, eos_id, max_len)[:, 1:]


mistake(
    "<pad> may be chosen",
    symptom="translations with holes, or that end in padding without an end",
    why="nothing keeps the padding token's score out of the argmax.",
    hint="Which scores must never win? When do you take them out?",
)(partial(search, banned=(BOS,)))
mistake(
    "<bos> may be chosen",
    symptom="a begin token in the middle of a sentence",
    why="nothing keeps the begin token's score out of the argmax.",
    hint="Which scores must never win? When do you take them out?",
)(partial(search, banned=(PAD,)))
mistake(
    "the search does not stop at <eos>",
    symptom="every answer is max_len long and goes on after its end",
    why="the loop runs over range(max_len), and nobody looks for the end token.",
    hint="When has every sentence ended? What should be written after an end?",
)(partial(search, stop="never", pad_ended=False))
mistake(
    "the search stops when the first sentence has ended",
    symptom="longer sentences of a batch are cut off",
    why="any() where all() is needed.",
    hint="For how many sentences must the end have come?",
)(partial(search, stop="any"))
mistake(
    "sentences that have ended go on while others are unfinished",
    symptom="tokens after <eos>, only in batches",
    why="the loop waits for all sentences, but nothing pads those that are ready.",
    hint="What should a sentence that has ended get as its next token?",
)(partial(search, pad_ended=False))
mistake(
    "an end is forgotten at the next step",
    symptom="sentences that go on after their end, and a search that seldom stops",
    why="what has ended is overwritten by what ends now: `ended = ...` where `ended = ended | ...` is meant.",
    hint="Two steps after its end, what does your function know of a sentence?",
)(partial(search, remembers=False))
mistake(
    "all sentences are searched up to max_len though all have ended",
    symptom="right answers followed by needless padding, and wasted time",
    why="the loop has no way out.",
    hint="When is there nothing left to do?",
)(partial(search, stop="never"))
mistake(
    "<bos> is missing in the answer",
    symptom="answers one token shorter than every other search's; code that strips <bos> strips a word",
    why="the contract keeps the begin token as the first one.",
    hint="What does the contract say about the first token?",
)(_without_bos)
mistake(
    "max_len is counted without <bos>",
    symptom="answers of max_len + 1 tokens, one past the positional table at worst",
    why="the contract counts the begin token as well.",
    hint="How long is your answer when nothing ends it?",
)(_longer)
mistake(
    "the model is left in eval mode",
    symptom="training goes on without dropout after the first sample",
    why="eval() is called, and nobody puts the mode back.",
    hint="What was model.training before your function, and what is it after?",
)(partial(search, mode="eval"))
mistake(
    "the model is left in training mode",
    symptom="whoever evaluates next does so with dropout",
    why="train() is called at the end, whatever the mode was before.",
    hint="What was model.training before your function, and what is it after?",
)(partial(search, mode="train"))
mistake(
    "the search runs in training mode",
    symptom="another answer each time, worse than it could be",
    why="dropout is still on.",
    hint="Which mode should a model be in when it predicts?",
)(partial(search, mode="leave alone"))

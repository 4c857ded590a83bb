"""Known mistakes in greedy decoding."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from transformer_edu.checks.components.greedy_search import BOS, PAD, SEARCH
from transformer_edu.transformer import Transformer


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
        ids, ended = torch.cat([ids, chosen[:, None]], 1), ended | (chosen == eos_id)
    if mode == "restore":
        model.train(training)
    return ids


def _known(name: str, symptom: str, why: str, hint: str, wrong: Callable[..., Tensor]) -> None:
    SEARCH.mistake(name, symptom=symptom, why=why, hint=hint)(wrong)


def _longer(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    return search(model, source, bos_id, eos_id, max_len + 1)


def _without_bos(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    return search(model, source, bos_id, eos_id, max_len)[:, 1:]


_known(
    "<pad> may be chosen",
    "translations with holes, or that end in padding without an end",
    "nothing keeps the padding token's score out of the argmax.",
    "Which scores must never win? When do you take them out?",
    partial(search, banned=(BOS,)),
)
_known(
    "<bos> may be chosen",
    "a begin token in the middle of a sentence",
    "nothing keeps the begin token's score out of the argmax.",
    "Which scores must never win? When do you take them out?",
    partial(search, banned=(PAD,)),
)
_known(
    "the search does not stop at <eos>",
    "every answer is max_len long and goes on after its end",
    "the loop runs over range(max_len), and nobody looks for the end token.",
    "When has every sentence ended? What should be written after an end?",
    partial(search, stop="never", pad_ended=False),
)
_known(
    "the search stops when the first sentence has ended",
    "longer sentences of a batch are cut off",
    "any() where all() is needed.",
    "For how many sentences must the end have come?",
    partial(search, stop="any"),
)
_known(
    "sentences that have ended go on while others are unfinished",
    "tokens after <eos>, only in batches",
    "the loop waits for all sentences, but nothing pads those that are ready.",
    "What should a sentence that has ended get as its next token?",
    partial(search, pad_ended=False),
)
_known(
    "all sentences are searched up to max_len though all have ended",
    "right answers followed by needless padding, and wasted time",
    "the loop has no way out.",
    "When is there nothing left to do?",
    partial(search, stop="never"),
)
_known(
    "<bos> is missing in the answer",
    "answers one token shorter than every other search's; code that strips <bos> strips a word",
    "the contract keeps the begin token as the first one.",
    "What does the contract say about the first token?",
    _without_bos,
)
_known(
    "max_len is counted without <bos>",
    "answers of max_len + 1 tokens, one past the positional table at worst",
    "the contract counts the begin token as well.",
    "How long is your answer when nothing ends it?",
    _longer,
)
_known(
    "the model is left in eval mode",
    "training goes on without dropout after the first sample",
    "eval() is called, and nobody puts the mode back.",
    "What was model.training before your function, and what is it after?",
    partial(search, mode="eval"),
)
_known(
    "the search runs in training mode",
    "another answer each time, worse than it could be",
    "dropout is still on.",
    "Which mode should a model be in when it predicts?",
    partial(search, mode="leave alone"),
)

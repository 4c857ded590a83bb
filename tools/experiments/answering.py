"""The change of the story model that is shipped: with it the model answers requests (chapter 21)."""

import copy
import hashlib
from typing import Any

import torch
from torch.nn.utils import parametrize

from experiments.answers import copied, measure, reward
from transformer_edu.book.experiments import answers, experiment
from transformer_edu.pretrained import load_answering, load_stories
from transformer_edu.pretrained.stories import CHANGE, LOW_RANK
from transformer_edu.saving.tensor_file import write_tensors


@experiment("answering")
def record_answering(
    stories: int = 2048, tuning: int = 150, steps: int = 60, beta: float = 0.1, requests: int = 100
) -> dict[str, Any]:
    """The change that is shipped: of low rank, learned from examples, then from a reward with a price."""
    base = load_stories()
    low = copied(base)
    torch.manual_seed(0)  # A is drawn
    answers.adapt(low.model, 4)
    answers.tune(low.model, base.tokenizer, answers.own_stories(base, stories), tuning, 3e-3, 0)
    rewarded = copy.deepcopy(low)
    history = reward(rewarded, low, beta, steps, 1e-3, 0)
    learned = {
        f"{name}.weight": part.parametrizations["weight"][0]
        for name, part in rewarded.model.named_modules()
        if parametrize.is_parametrized(part)
    }
    changes = {f"{name}.{letter}": getattr(one, letter).half() for name, one in learned.items() for letter in "ab"}
    (scale,) = {one.scale for one in learned.values()}
    write_tensors(CHANGE, changes, {"scale": scale, "base": base.card["weights_sha256"]}, LOW_RANK)
    found = measure(load_answering(), base, 0, requests)
    return {"beta": beta, "history": history, "sha256": hashlib.sha256(CHANGE.read_bytes()).hexdigest()} | found

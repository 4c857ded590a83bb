"""Go on from a text, token by token: the prompt in one pass, then one token a step, with a key-value cache."""

from collections.abc import Callable
from typing import Any

import torch

from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.shapes import Float, Ids, Int, Tensor
from transformer_edu.support.validation import check_positive_integer


def most_probable(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, " batch"]:
    """The best next token of each row."""
    return logits.argmax(dim=-1)


@torch.no_grad()
def continue_text(
    model: Any,
    prompt: Ids,
    steps: int,
    eos_id: int | None = None,
    choose: Callable[[Tensor], Tensor] = most_probable,
) -> Int[Tensor, "batch longer"]:
    """Write up to `steps` tokens behind each prompt.

    The cache is filled with the prompt in one pass (prefill) and grows by one token a step (decode). A text that
    outgrows the model's positions loses the older half of what the model sees, and the cache is filled anew.

    Args:
        model: a `GPT`, or another whose `start()` gives a `Writer` that has read nothing.
        prompt: ids (batch, seq), shorter ones padded on the *left* with the model's pad_id.
        steps: most tokens to write.
        eos_id: ends a text; what comes after it in its row is padding (or eos_id, where the model has no pad_id).
        choose: logits (batch, vocab) -> ids (batch).

    Returns:
        The prompts and what was written (batch, seq + at most steps).
    """
    check_positive_integer("steps", steps, minimum=0)
    most, pad_id = model.config.max_len, model.config.pad_id
    ids, new, writer, read = prompt, prompt[:, -most:], None, 0
    ended = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    with evaluation_mode(model):
        for _ in range(steps):
            writer = writer or model.start()
            chosen, read = choose(writer.next_logits(new)), read + new.shape[1]
            if eos_id is not None:
                chosen = chosen.masked_fill(ended, eos_id if pad_id is None else pad_id)
                ended |= chosen == eos_id
            ids = torch.cat([ids, chosen[:, None]], dim=1)
            if eos_id is not None and bool(ended.all()):
                break
            new = chosen[:, None]
            if read == most:
                new, writer, read = ids[:, -(most // 2) :], None, 0
    return ids

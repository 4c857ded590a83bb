"""From a model that scores the next token to a whole sentence."""

from collections.abc import Callable

import torch

from transformer_edu.decoding.writer import WritingModel
from transformer_edu.support.arguments import check_padded_ids
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.shapes import Int, Tensor
from transformer_edu.support.validation import check_positive_integer

EXTRA = 50  # tokens that an answer may have more than its source (paper, section 6.1)


@torch.no_grad()
def greedy_search(
    model: WritingModel, source: Int[Tensor, "batch source_seq"], bos_id: int, eos_id: int, max_len: int | None = None
) -> Int[Tensor, "batch seq"]:
    """Take the most probable next token again and again, until every sentence has ended.

    Args:
        model: a Transformer, or another that is a `WritingModel`. It runs in eval mode here; its mode is put back.
            Several threads may search with it at the same time.
        source: ids (batch, source_seq), padded with the model's pad_id.
        bos_id, eos_id: ids of the begin and end tokens.
        max_len: most tokens in an answer, the begin token counted; None: as many as the sentence's source has, and
            50 more (paper, section 6.1).

    Returns:
        Ids (batch, <= max_len). Each row begins with bos_id; after its eos_id it is filled up with pad_id.
        Neither pad_id nor bos_id is ever chosen.
    """
    return generate(model, source, bos_id, eos_id, max_len, lambda logits: logits.max(dim=-1).indices)


def generate(
    model: WritingModel,
    source: Int[Tensor, "batch source_seq"],
    bos_id: int,
    eos_id: int,
    max_len: int | None,
    choose: Callable[[Tensor], Tensor],
) -> Int[Tensor, "batch seq"]:
    """Write one token after the other; `choose` picks it from the logits: (batch, vocab) -> (batch)."""
    check_search(model, source, bos_id, eos_id, max_len)
    pad_id = model.config.pad_id
    limits = answer_limits(model, source, max_len)  # (batch)
    with evaluation_mode(model):  # type: ignore[arg-type]  # it is a module as well
        writer = model.start(source)
        ids = torch.full((source.shape[0], 1), bos_id, dtype=torch.long, device=source.device)
        ended = limits <= 1
        while not ended.all():
            logits = writer.next_logits(ids[:, -1:])
            logits[:, [pad_id, bos_id]] = -torch.inf
            chosen = choose(logits).masked_fill(ended, pad_id)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
            ended |= (chosen == eos_id) | (limits <= ids.shape[1])
    return ids


def answer_limits(model: WritingModel, source: Tensor, max_len: int | None) -> Int[Tensor, " batch"]:
    """Most tokens of each answer, the begin token counted: `max_len`, or the paper's source length + 50."""
    if max_len is not None:
        return torch.full((source.shape[0],), max_len, device=source.device)
    return ((source != model.config.pad_id).sum(dim=1) + EXTRA).clamp(max=model.config.max_len)


def check_search(model: WritingModel, source: Tensor, bos_id: int, eos_id: int, max_len: int | None) -> None:
    """Raise unless a search can start from these."""
    if not isinstance(model, WritingModel):
        raise TypeError(f"model must write, with `config` and `start` as a Transformer has, got {type(model).__name__}")
    config = model.config
    check_positive_integer("config.pad_id", config.pad_id, minimum=0)  # it fills up the rows that end early
    check_padded_ids(source, config.pad_id, "source")
    for name, value in (("bos_id", bos_id), ("eos_id", eos_id)):
        check_positive_integer(name, value, minimum=0)
        if value >= config.vocab_size:
            raise ValueError(f"{name} must be an id below vocab_size={config.vocab_size}, got {value}")
    may_be_pad = getattr(config, "begins_with_padding", False)
    if eos_id in (bos_id, config.pad_id) or (bos_id == config.pad_id and not may_be_pad):
        raise ValueError(
            f"bos_id, eos_id and the model's pad_id must differ, got {bos_id}, {eos_id} and {config.pad_id}"
        )
    if max_len is None:
        return
    check_positive_integer("max_len", max_len, minimum=2)
    if max_len > config.max_len:
        raise ValueError(f"max_len must not exceed the model's positional table ({config.max_len}), got {max_len}")

"""From a model that scores the next token to a whole sentence."""

from collections.abc import Callable

import torch

from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.shapes import Float, Int, Tensor
from transformer_edu.support.validation import check_ids, check_positive_integer
from transformer_edu.transformer import Transformer

EXTRA = 50  # tokens that an answer may have more than its source (paper, section 6.1)


@torch.no_grad()
def greedy_search(
    model: Transformer, source: Int[Tensor, "batch source_seq"], bos_id: int, eos_id: int, max_len: int | None = None
) -> Int[Tensor, "batch seq"]:
    """Take the most probable next token again and again, until every sentence has ended.

    Args:
        model: runs in eval mode here; its mode is put back. Several threads may search with it at the same time.
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
    model: Transformer,
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
    with evaluation_mode(model):
        memory, cache = model.encode(source), model.start_cache()
        ids = torch.full((source.shape[0], 1), bos_id, dtype=torch.long, device=source.device)
        ended = limits <= 1
        while not ended.all():
            logits = next_token_logits(model, ids[:, -1:], memory, source, cache)
            logits[:, [pad_id, bos_id]] = -torch.inf
            chosen = choose(logits).masked_fill(ended, pad_id)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
            ended |= (chosen == eos_id) | (limits <= ids.shape[1])
    return ids


def answer_limits(model: Transformer, source: Tensor, max_len: int | None) -> Int[Tensor, " batch"]:
    """Most tokens of each answer, the begin token counted: `max_len`, or the paper's source length + 50."""
    if max_len is not None:
        return torch.full((source.shape[0],), max_len, device=source.device)
    return ((source != model.config.pad_id).sum(dim=1) + EXTRA).clamp(max=model.config.max_len)


def next_token_logits(
    model: Transformer,
    newest: Int[Tensor, "batch new"],
    memory: Float[Tensor, "batch source_seq d_model"],
    source: Int[Tensor, "batch source_seq"],
    cache: DecoderCache,
) -> Float[Tensor, "batch vocab"]:
    """Scores (batch, vocab) of the token after `newest`, the ids that came since the cache was last used."""
    with cache.in_use():
        return model.project(model.decode(newest, memory, source, cache)[:, -1:])[:, 0]


def check_search(model: Transformer, source: Tensor, bos_id: int, eos_id: int, max_len: int | None) -> None:
    """Raise unless a search can start from these."""
    if not isinstance(model, Transformer):
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    config = model.config
    check_ids("source", source, config.source_vocab_size)
    for name, value in (("bos_id", bos_id), ("eos_id", eos_id)):
        check_positive_integer(name, value, minimum=0)
        if value >= config.target_vocab_size:
            raise ValueError(f"{name} must be an id below target_vocab_size={config.target_vocab_size}, got {value}")
    if len({bos_id, eos_id, config.pad_id}) < 3:
        raise ValueError(
            f"bos_id, eos_id and the model's pad_id must differ, got {bos_id}, {eos_id} and {config.pad_id}"
        )
    if max_len is None:
        return
    check_positive_integer("max_len", max_len, minimum=2)
    if max_len > config.max_len:
        raise ValueError(f"max_len must not exceed the model's positional table ({config.max_len}), got {max_len}")

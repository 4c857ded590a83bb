"""What the translator of real sentences loses without one of its heads (chapter 16)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.parallel import TextPair
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.head_effects import head_effects, token_losses
from transformer_edu.inspect.heads import attentions, head_entropies
from transformer_edu.inspect.record import record_attention
from transformer_edu.transformer import Transformer


@experiment("translator-heads")
def record_translator_heads(folder: str | Path | None = None, captions: int = 200) -> dict[str, Any]:
    """See `heads_of`; of the first validation captions. About three minutes of one thread. Reads Multi30k's files.

    Args:
        folder: where Multi30k's files are; None: see `multi30k_pairs`.
    """
    return heads_of(multi30k_pairs("val", folder, "de", "en")[:captions])


def heads_of(pairs: Sequence[TextPair]) -> dict[str, Any]:
    """Losses of these captions in nats a piece, given the right pieces so far.

    Returns:
        "loss"; "heads": for each the rise when it is off and when it adds its mean, and its entropy over ln n;
        "silent": the rise when a whole attention adds nothing.
    """
    translator = pretrained.load_translator()
    model, tokenizer = translator.model, translator.tokenizer
    source = pad_sequences([tokenizer.encode(german) for german, _ in pairs])
    target = pad_sequences([[BOS_ID, *tokenizer.encode(english), EOS_ID] for _, english in pairs])
    loss = float(token_losses(model, source, target).mean())
    effects = {how: head_effects(model, source, target, how) for how in ("off", "mean")}
    entropy = _entropies(model, source, target)
    silent = {}
    for name in attentions(model):
        with changed(model, silent=[name]):
            silent[name] = round(float(token_losses(model, source, target).mean()) - loss, 4)
    heads = [
        {"head": name, "off": round(rise, 4), "mean": round(effects["mean"][name], 4), "entropy": entropy[name]}
        for name, rise in effects["off"].items()
    ]
    return {"captions": len(pairs), "loss": round(loss, 4), "heads": heads, "silent": silent}


@torch.no_grad()
def _entropies(model: Transformer, source: torch.Tensor, target: torch.Tensor) -> dict[str, float]:
    """Each head's entropy over ln n, the mean over the captions; each caption alone, so that nothing is padding."""
    found: dict[str, list[float]] = {}
    for row, line in zip(source, target, strict=True):
        read, written = (ids[ids != model.config.pad_id][None] for ids in (row, line))
        with record_attention(model) as maps:
            model(read, written[:, :-1])
        for name, value in head_entropies({name: weights[0] for name, weights in maps.items()}).items():
            found.setdefault(name, []).append(value)
    return {name: round(sum(values) / len(values), 4) for name, values in found.items()}

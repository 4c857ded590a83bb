"""What mistakes with masks do to a decoder of two layers that is trained with them (chapter 10)."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from transformer_edu.book.experiments import experiment
from transformer_edu.config import TransformerConfig
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, make_batch, train_pairs, vocabularies
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.shapes import Tensor
from transformer_edu.training import evaluate_loss, train
from transformer_edu.transformer import Transformer

SEEDS = (0, 1, 2)
STEPS = 250
SIZE: dict[str, Any] = {"d_model": 32, "num_heads": 4, "d_ff": 64, "num_layers": 2, "dropout": 0.0, "max_len": 32}

Change = Callable[[Tensor], Tensor]  # of a mask (batch, 1, q_len, k_len)


def with_mask(attention: nn.Module, change: Change) -> None:
    """From now on this attention gets its mask through `change`; its query and key lengths are known there."""

    def hook(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        query, key, value, mask, *rest = arguments
        return query, key, value, change(mask.expand(-1, -1, query.shape[1], -1)), *rest

    attention.register_forward_pre_hook(hook)


def see_all(mask: Tensor) -> Tensor:
    """Only the padding stays hidden: what the last row may see, everybody may."""
    return mask[..., -1:, :].expand_as(mask)


def see_past(mask: Tensor) -> Tensor:
    """A causal mask on top of what is there."""
    return mask & torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).tril()


def break_masks(model: Transformer, mistake: str) -> Transformer:
    """Change the model's masks in place: "none", "layer 1 unmasked", "layer 2 unmasked" or "cross-attention masked"."""
    layers: Any = model.decoder.layers
    for number, layer in enumerate(layers, start=1):
        if mistake == f"layer {number} unmasked":
            with_mask(layer.self_attention, see_all)
        if mistake == "cross-attention masked":
            with_mask(layer.cross_attention, see_past)
    return model


MISTAKES = ("none", "layer 1 unmasked", "layer 2 unmasked", "cross-attention masked")


@torch.no_grad()
def written_right(model: Transformer, pairs: Sequence[tuple[list[int], list[int]]], bos_id: int, eos_id: int) -> float:
    """The share of sentences, 0 .. 1, written right word by word, each word with a whole run of the decoder."""
    batch = make_batch(pairs)
    memory, target = model.eval().encode(batch.source), torch.full((len(pairs), 1), bos_id)
    for _ in range(batch.target_out.shape[1]):
        word = model.project(model.decode(target, memory, batch.source))[:, -1].argmax(dim=-1)
        target = torch.cat([target, word[:, None]], dim=1)
    wanted = batch.target_out != batch.pad_id
    return float(((target[:, 1:] == batch.target_out) | ~wanted).all(dim=1).float().mean())


@experiment("decoder-mistakes")
def record_decoder_mistakes(seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 200) -> dict[str, Any]:
    """The grammar's translator trained with each mistake from each seed. About three minutes of one thread."""
    english, french = vocabularies()
    pairs = encode_pairs(train_pairs(), english, french)
    held_out = encode_pairs(held_out_pairs(sentences), english, french)
    test, runs = make_batch(held_out), []
    for seed in seeds:
        for mistake in MISTAKES:
            torch.manual_seed(seed)
            model = Transformer(TransformerConfig(len(english), len(french), **SIZE))
            xavier_initialize(model)
            model = break_masks(model, mistake)
            batches = iterate_batches(pairs, 64, seed=seed, epochs=None)
            train(model, batches, steps=steps, learning_rate=0.002, smoothing=0.0, progress=False)
            with torch.no_grad():
                best = model.eval()(test.source, test.target_in).argmax(dim=-1)
            words = (best == test.target_out)[test.target_out != test.pad_id]
            runs.append({
                "seed": seed, "mistake": mistake,
                "loss": round(evaluate_loss(model, [test]), 3),
                "words": round(float(words.float().mean()), 3),
                "sentences": round(written_right(model, held_out, french.bos_id, french.eos_id), 3),
            })  # fmt: skip
    return {"steps": steps, "runs": runs}

"""Are heads dispensable in one model only? The recipe of chapter 13 from other seeds, looked into as in chapter 16."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from transformer_edu.book.experiments import experiment
from transformer_edu.data.batching import encode_pairs, pad_sequences
from transformer_edu.data.corpus import held_out_pairs, vocabularies
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.head_effects import head_effects, without_heads
from transformer_edu.inspect.heads import attentions, head_names
from transformer_edu.inspect.lens import stream_logits
from transformer_edu.training.evaluate import exact_match
from transformer_edu.training.grammar_model import STEPS, train_grammar_model
from transformer_edu.transformer import Transformer

SEEDS = (1, 2, 3, 4)  # the shipped model is of seed 0


@experiment("heads-over-seeds")
def record_heads_over_seeds(
    seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 200, progress: bool = False
) -> dict[str, Any]:
    """What each model writes without one of its heads, and without whole attentions. About six minutes of one thread.

    Shares of held-out sentences that come out right word for word; `effects`: rise of the loss in nats a token; `lens`:
    the share of words that the output layer reads rightly from each place of the stream.
    """
    pairs = encode_pairs(held_out_pairs(sentences), *vocabularies())
    source = pad_sequences([source for source, _ in pairs])
    target = pad_sequences([[BOS_ID, *target, EOS_ID] for _, target in pairs])
    runs = []
    for seed in seeds:
        model, _ = train_grammar_model(seed, steps=steps, progress=progress)
        effects = head_effects(model, source, target)
        runs.append({
            "seed": seed,
            "whole": exact_match(model, pairs),
            "alone": {name: _right_without(model, name, pairs) for name in head_names(model)},
            "effects": {name: round(effect, 4) for name, effect in effects.items()},
            "silent": {name: _right_silent(model, [name], pairs) for name in attentions(model)},
            "silent_encoder": _right_silent(model, [name for name in attentions(model) if "encoder" in name], pairs),
            "lens": lens_shares(model, source, target),
        })  # fmt: skip
    return {"sentences": len(pairs), "runs": runs}


def _right_without(model: Transformer, head: str, pairs: Any) -> float:
    with without_heads(model, [head]):
        return exact_match(model, pairs)


def _right_silent(model: Transformer, sublayers: list[str], pairs: Any) -> float:
    with changed(model, silent=sublayers):
        return exact_match(model, pairs)


def lens_shares(model: Transformer, source: Tensor, target: Tensor) -> dict[str, float]:
    """For each place on the decoder's way the share of right words that the output layer reads from there."""
    nexts = target[:, 1:]
    real = nexts != model.config.pad_id
    read = stream_logits(model, source, target[:, :-1])
    return {name: round(float((logits.argmax(-1) == nexts)[real].float().mean()), 4) for name, logits in read.items()}

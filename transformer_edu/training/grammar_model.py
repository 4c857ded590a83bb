"""The one recipe of the book's small English-French model: chapter 13 runs it, and so does this command:

python -m transformer_edu.training.grammar_model --seed 0      # writes to the folder grammar-model
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transformer_edu.config import TransformerConfig
from transformer_edu.data import encode_pairs, held_out_pairs, iterate_batches, train_pairs, vocabularies
from transformer_edu.saving.checkpoint import save_model
from transformer_edu.support.files import write_atomically
from transformer_edu.support.initialization import xavier_initialize
from transformer_edu.support.provenance import provenance
from transformer_edu.support.seeds import seeded
from transformer_edu.support.threads import one_thread
from transformer_edu.training.evaluate import exact_match
from transformer_edu.training.loop import History, Step, evaluate_loss, train
from transformer_edu.training.schedule import warmup_schedule
from transformer_edu.transformer import Transformer

STEPS = 1000
BATCH_SIZE = 64  # sentence pairs
WARMUP_STEPS = 400  # the learning rate peaks here, at 0.00625
SMOOTHING = 0.1  # as in the paper


def grammar_config() -> TransformerConfig:
    """The paper's architecture, eight times narrower and three times shallower than its base model."""
    source, target = vocabularies()
    return TransformerConfig(
        len(source), len(target), d_model=64, num_heads=4, d_ff=128, num_layers=2, dropout=0.1, max_len=32
    )


def new_grammar_model(seed: int) -> Transformer:
    """An untrained model; its weights depend on `seed` alone.

    All its matrices are drawn Xavier-uniform, the embeddings too: the start of the shipped model and its recordings.
    """
    with seeded(seed):
        model = Transformer(grammar_config())
        xavier_initialize(model)
    return model


def grammar_learning_rate(step: int) -> float:
    """The paper's schedule for this width and warm-up."""
    return warmup_schedule(step, grammar_config().d_model, WARMUP_STEPS)


def train_grammar_model(
    seed: int = 0,
    device: torch.device | str = "cpu",
    progress: bool = True,
    steps: int = STEPS,
    on_step: Callable[[Step, Transformer], None] | None = None,
) -> tuple[Transformer, History]:
    """A trained model, in evaluation mode, and its history. `seed` decides weights, order and dropout.

    Runs on one CPU thread: for matrices this small a second one costs more than it brings.
    """
    model = new_grammar_model(seed).to(device)
    batches = iterate_batches(encode_pairs(train_pairs(), *vocabularies()), BATCH_SIZE, seed=seed, epochs=None)
    with one_thread():
        history = train(
            model,
            batches,
            steps=steps,
            learning_rate=grammar_learning_rate,
            smoothing=SMOOTHING,
            seed=seed,
            progress=progress,
            on_step=on_step,
        )
    return model.eval(), history


def held_out_score(model: Transformer, count: int = 1000) -> dict[str, Any]:
    """How the model does on the first `count` held-out sentences: exact match 0 .. 1, and loss in nats per token."""
    pairs = encode_pairs(held_out_pairs(count), *vocabularies())
    return {
        "sentences": len(pairs),
        "exact_match": exact_match(model, pairs),
        "loss": round(evaluate_loss(model, iterate_batches(pairs, 250)), 4),
    }


def loss_curve(history: History, every: int = 25) -> list[dict[str, Any]]:
    """The history in short: the mean loss per token of each `every` steps."""
    chunks = [history.steps[start : start + every] for start in range(0, len(history.steps), every)]
    return [
        {
            "step": chunk[-1].step,
            "loss": round(History(chunk).mean_loss(), 4),
            "learning_rate": float(f"{chunk[-1].learning_rate:.4g}"),
        }
        for chunk in chunks
    ]


def save_grammar_model(model: Transformer, history: History, seed: int, folder: Path) -> dict[str, Any]:
    """Write grammar.safetensors, grammar.json (all about it, the vocabularies too) and grammar.log; return the JSON."""
    command = f"python -m transformer_edu.training.grammar_model --seed {seed}"
    if len(history.steps) != STEPS:
        command += f" --steps {len(history.steps)}"
    weights = folder / "grammar.safetensors"
    save_model(model, weights, {"command": command, "seed": seed})
    source, target = vocabularies()
    card = {
        "name": "grammar",
        **provenance(command),
        "seed": seed,
        "held_out": held_out_score(model),
        "training": {
            "steps": len(history.steps),
            "loss": round(history.mean_loss(50), 4),
            "seconds": round(history.seconds, 1),
        },
        "weights_sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "source_words": source.words[4:],
        "target_words": target.words[4:],
    }
    write_atomically(folder / "grammar.json", (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    log = [f"{row['step']:5d}  loss {row['loss']:.4f}  rate {row['learning_rate']:.6f}" for row in loss_curve(history)]
    write_atomically(
        folder / "grammar.log", "\n".join([f"$ {command}", *log, f"held out: {card['held_out']}", ""]).encode()
    )
    return card


def main(arguments: list[str] | None = None) -> None:
    """The command: train, score, save."""
    parser = argparse.ArgumentParser(description="Train the small English-French model of the book.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path("grammar-model"), help="folder to write to (%(default)s)")
    options = parser.parse_args(arguments)
    with one_thread():
        model, history = train_grammar_model(options.seed, steps=options.steps)
        card = save_grammar_model(model, history, options.seed, options.out)
    print(f"held out: {card['held_out']}, written to {options.out}")


if __name__ == "__main__":
    main()

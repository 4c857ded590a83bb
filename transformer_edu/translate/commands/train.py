"""`transformer-edu train`: from parallel text to a translator."""

import argparse
from typing import Any

from transformer_edu.runs.command import add_training, listed, run_training, settings_of
from transformer_edu.translate.export import export
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import TranslationTask, prepare_task


def add_parser(commands: Any) -> None:
    """Add the command."""
    summary = "train a model on Multi30k or on any parallel text"
    add_training(commands, "train", summary, TrainingSettings).set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Prepare, train, finish."""
    settings = settings_of(options, TrainingSettings)
    card = run_training(options, settings, prepare_task, _data, export)
    if card:
        print(f"searching with {listed(card['search'])}")
        text = " --text SOURCE TARGET" if settings.train else ""
        print(f"written to {settings.out}; next: transformer-edu evaluate --model {settings.out}{text}")


def _data(task: TranslationTask) -> str:
    longest = task.settings.max_length
    return f"{len(task.train):,} pairs ({task.too_long} longer than {longest} tokens left out)"

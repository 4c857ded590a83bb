"""`transformer-edu train-lm` and `write`: from any text to a language model, and what it writes."""

import argparse
import os
from typing import Any

from transformer_edu.language.export import export
from transformer_edu.language.model import LanguageModel, load_language_model
from transformer_edu.language.settings import LanguageSettings
from transformer_edu.language.task import LanguageTask, prepare_task
from transformer_edu.pretrained.stories import STORIES, TELLERS
from transformer_edu.runs.command import add_training, run_training, settings_of
from transformer_edu.support.device import pick_device
from transformer_edu.support.options import number_between, whole_number
from transformer_edu.support.output import named, reader_may_leave

CHOICES = ("temperature", "top_k", "top_p", "min_p")


def add_parsers(commands: Any) -> None:
    """Add both commands."""
    summary = "train a language model on any text"
    add_training(commands, "train-lm", summary, LanguageSettings).set_defaults(run=train)
    parser = commands.add_parser("write", help="let a language model go on from a beginning")
    parser.add_argument("text", nargs="?", default="", help="the beginning; without it, the model begins")
    parser.add_argument("--model", default=STORIES, help="a folder written by train-lm, or stories, or answering")
    parser.add_argument("--steps", type=whole_number(1), default=100, help="most tokens to write (default: 100)")
    parser.add_argument("--count", type=whole_number(1), default=1, help="continuations, each with its own luck")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of the draws")
    parser.add_argument("--temperature", type=number_between(1e-3, 100.0), help="below 1 sharpens, above 1 flattens")
    parser.add_argument("--top-k", type=whole_number(1), help="draw from the k most probable tokens")
    parser.add_argument("--top-p", type=number_between(1e-9, 1.0), help="draw from the fewest that reach p together")
    parser.add_argument(
        "--min-p", type=number_between(0.0, 1.0), help="draw from those at least p times as probable as the best"
    )
    parser.set_defaults(run=write)


def train(options: argparse.Namespace) -> None:
    """Prepare, train, finish."""
    settings = settings_of(options, LanguageSettings)
    card = run_training(options, settings, prepare_task, _data, export)
    if card:
        found = card["bits_per_byte"]
        print(f"bits per byte {found['value']} (95 % of draws of the texts: {found['interval']})")
        print(f"written to {settings.out}; next: transformer-edu write --model {settings.out} 'Once upon a time'")


def _data(task: LanguageTask) -> str:
    return f"{len(task.train):,} texts of {task.held:,} tokens"


def write(options: argparse.Namespace) -> None:
    """Print the beginning with its continuation, as often as was asked; greedy unless a choice is given."""
    language = _open(options.model)
    chosen = {name: getattr(options, name) for name in CHOICES if getattr(options, name) is not None}
    with reader_may_leave(), named("standard output"):
        for number in range(options.count):
            text = language.write(options.text, options.steps, options.seed + number, **chosen)
            print(text, end="\n\n" if number < options.count - 1 else "\n")


def _open(name: str) -> LanguageModel:
    if os.path.isdir(name):
        return load_language_model(name, pick_device())
    if name in TELLERS:
        return TELLERS[name](pick_device())
    raise FileNotFoundError(f"model must be a folder written by train-lm, or {' or '.join(TELLERS)}, got {name!r}")

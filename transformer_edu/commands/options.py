"""Options that `translate` and `evaluate` share."""

import argparse
from pathlib import Path
from typing import Any

from transformer_edu.device import pick_device
from transformer_edu.pretrained import TRANSLATORS, load
from transformer_edu.translator import Translator, load_translator


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """How to search; what is not given is what was best on the model's validation text."""
    parser.add_argument("--model", default=TRANSLATORS[0], help="a folder written by train, or a shipped model's name")
    parser.add_argument("--beam-size", type=int, help="partial sentences to follow; 1 is greedy search")
    parser.add_argument("--length-penalty", type=float, help="0 compares log-probabilities; more favours long answers")
    parser.add_argument("--max-len", type=int, help="longest answer in subwords, <bos> counted; default: source + 50")


def chosen_search(options: argparse.Namespace) -> dict[str, Any]:
    """The search options that were given."""
    given = {name: getattr(options, name) for name in ("beam_size", "length_penalty", "max_len")}
    return {name: value for name, value in given.items() if value is not None}


def open_model(name: str) -> Translator:
    """A folder or a shipped model, on the device that `pick_device` names."""
    if Path(name).is_dir():
        return load_translator(name, pick_device())
    if name in TRANSLATORS:
        return load(name, pick_device())
    raise FileNotFoundError(
        f"model must be a folder written by train, or one of {', '.join(TRANSLATORS)}, got {name!r}"
    )

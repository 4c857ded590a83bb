"""Options that `translate` and `evaluate` share."""

import argparse
import os
import re
from typing import Any

from transformer_edu import pretrained
from transformer_edu.saving.card import MAX_LENGTH_PENALTY
from transformer_edu.support.device import pick_device
from transformer_edu.support.options import number_between, shortened, whole_number
from transformer_edu.translate.translator import Translator, load_translator

SEARCH = ("beam_size", "length_penalty", "max_len")


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """How to search; what is not given is what was best on the model's validation text."""
    parser.add_argument("--model", default=pretrained.TRANSLATOR, help="a folder written by train, or a shipped model")
    parser.add_argument("--beam-size", type=whole_number(1), help="partial sentences to follow; 1 is greedy search")
    parser.add_argument(
        "--length-penalty",
        type=number_between(0.0, MAX_LENGTH_PENALTY),
        help="0 compares log-probabilities; more favours long answers",
    )
    parser.add_argument(
        "--max-len", type=whole_number(2), help="longest answer in tokens, <bos> counted; default: source + 50"
    )


def checked_search(options: argparse.Namespace, translator: Translator) -> dict[str, Any]:
    """The search options that were given; an error names the one that this model cannot search with."""
    given = {name: getattr(options, name) for name in SEARCH if getattr(options, name) is not None}
    try:
        translator.search_options(getattr(options, "n_best", 1), **given)
    except ValueError as error:
        typed = re.sub(r"\b(beam_size|length_penalty|max_len|n_best)\b", _as_typed, str(error))
        raise ValueError(typed) from error
    return given


def _as_typed(name: re.Match[str]) -> str:
    return "--" + name[0].replace("_", "-")


def open_model(name: str) -> Translator:
    """A folder or a shipped model, on the device that `pick_device` names."""
    if os.path.isdir(name):
        return load_translator(name, pick_device())
    if name == pretrained.TRANSLATOR:
        return pretrained.load_translator(pick_device())
    raise FileNotFoundError(
        f"model must be a folder written by train, or {pretrained.TRANSLATOR}, got {shortened(name)}"
    )

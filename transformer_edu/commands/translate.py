"""`transformer-edu translate`: sentences from a file or standard input, one a line."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from transformer_edu.commands.options import add_search_options, chosen_search, open_model
from transformer_edu.data.parallel import read_lines
from transformer_edu.translator import Translation, Translator

CHUNK = 256  # sentences from standard input that are translated together


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("translate", help="translate a file or standard input, one sentence a line")
    parser.add_argument("file", nargs="?", help="text to translate (.gz too); without it, standard input")
    add_search_options(parser)
    parser.add_argument("--n-best", type=int, default=1, help="answers per sentence; more than one: with their scores")
    parser.add_argument("--alignments", action="store_true", help="show for each piece which source piece it looks at")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Translate in chunks, and print each answer as soon as its chunk is done."""
    translator = open_model(options.model)
    for chunk in _chunks(options.file):
        answers = translator.translate_all(chunk, options.n_best, **chosen_search(options))
        for text, found in zip(chunk, answers, strict=True):
            for translation in found:
                _print(translator, text, translation, options)
        sys.stdout.flush()


def _chunks(file: str | None) -> Iterator[list[str]]:
    if file is not None:
        lines = read_lines(file)
        yield from (lines[start : start + CHUNK] for start in range(0, len(lines), CHUNK))
        return
    chunk: list[str] = []
    for line in sys.stdin:
        chunk.append(line.removesuffix("\n").removesuffix("\r"))
        if len(chunk) == CHUNK or sys.stdin.isatty():
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _print(translator: Translator, text: str, translation: Translation, options: argparse.Namespace) -> None:
    scores = f"{translation.score:.4f}\t{translation.log_prob:.4f}\t" if options.n_best > 1 else ""
    print(scores + translation.text)
    if options.alignments and translation.ids:
        for written, read, weight in translator.alignment(text, translation):
            print(f"  {written}\t{read}\t{weight:.2f}")

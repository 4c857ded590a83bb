"""The command line: `transformer-edu train`, `translate`, `evaluate`, `train-lm`, `write`, `check`, `classroom`."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from transformer_edu import __version__
from transformer_edu.book.commands.check import add_parser as add_check
from transformer_edu.book.commands.classroom import add_parser as add_classroom
from transformer_edu.language.commands import add_parsers as add_language
from transformer_edu.support.device import check_device_works
from transformer_edu.support.output import PROGRAM, finish_output, prepare_streams, say
from transformer_edu.translate.commands.evaluate import add_parser as add_evaluate
from transformer_edu.translate.commands.train import add_parser as add_train
from transformer_edu.translate.commands.translate import add_parser as add_translate


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. What the user can mend is told in a line, with exit status 2, and no traceback."""
    prepare_streams()
    try:
        run(parser().parse_args(arguments))
    finally:
        finish_output()


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as the commands do."""

    def error(self, message: str) -> NoReturn:
        """Name the option, its value, and what was expected."""
        say(f"{message} (see {self.prog} --help)")
        sys.exit(2)


def parser() -> Parser:
    """The commands with their options."""
    whole = Parser(prog=PROGRAM, description=__doc__.splitlines()[0])
    whole.add_argument("--version", action="version", version=__version__)
    whole.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    for add_parser in (add_train, add_translate, add_evaluate, add_check, add_classroom):
        add_parser(commands)
    add_language(commands)
    return whole


def run(options: argparse.Namespace) -> None:
    """Run the chosen command."""
    try:
        check_device_works()
        options.run(options)
    except KeyboardInterrupt as stop:
        say(str(stop) or "stopped")
        sys.exit(130)
    except (ValueError, TypeError, OSError, ArithmeticError, MemoryError, RuntimeError) as error:
        if options.debug or not can_be_mended(error):
            raise
        say(in_words(error))
        sys.exit(2)


def can_be_mended(error: Exception) -> bool:
    """Whether the user can do something about it; a RuntimeError is a fault of the program, unless memory ran out."""
    text = str(error).lower()
    return not isinstance(error, RuntimeError) or "out of memory" in text or "allocate memory" in text


def in_words(error: Exception) -> str:
    """An error's message; that of a failed system call with the file first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or ("out of memory" if isinstance(error, MemoryError) else type(error).__name__)

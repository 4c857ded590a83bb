"""The command line: `transformer-edu train`, `translate` and `evaluate`."""

import argparse
import os
import sys
from collections.abc import Sequence

from transformer_edu import __version__
from transformer_edu.commands.evaluate import add_parser as add_evaluate
from transformer_edu.commands.train import add_parser as add_train
from transformer_edu.commands.translate import add_parser as add_translate


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. What the user can mend is told in a line, with exit status 2, and no traceback."""
    parser = argparse.ArgumentParser(prog="transformer-edu", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_parser in (add_train, add_translate, add_evaluate):
        add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
        if options.debug:
            raise
        print(f"transformer-edu: {error}", file=sys.stderr)
        sys.exit(2)

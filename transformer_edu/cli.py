"""The command line: `transformer-edu train`, `translate` and `evaluate`."""

import argparse
import sys
from collections.abc import Sequence

from transformer_edu import __version__
from transformer_edu.commands import evaluate, train, translate


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. What the user can mend is told in a line, with exit status 2, and no traceback."""
    parser = argparse.ArgumentParser(prog="transformer-edu", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (train, translate, evaluate):
        module.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
        if options.debug:
            raise
        print(f"transformer-edu: {error}", file=sys.stderr)
        sys.exit(2)

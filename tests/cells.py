"""Code that is run as Jupyter runs a cell: its text can be found afterwards."""

import linecache
from itertools import count

NUMBERS = count()


def run_cell(text, place):
    """Run `text` with the names of `place`, which it changes."""
    file = f"<cell {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), place)

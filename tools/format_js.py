"""Lay out the JavaScript of the figures and of the book: two blanks a level, at most 120 columns.

    python tools/format_js.py [--check] [FILE ...]

jsbeautifier indents and spaces. It cannot break a long line well, so that is done by hand, and a line above 120 columns
is an error. Without a file: all of our own. --check changes nothing, names the files that would change, and exits 1.
"""

import argparse
import re
import sys
import textwrap
from pathlib import Path

import jsbeautifier

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
UNBROKEN = "\0"  # stands for a blank at which a line may not end
IMPORT = re.compile(r"^import \{([^}]*)\} from (\S+);$", re.MULTILINE)
MISPLACED_BLANKS = {"} [": "}[", "( /**": "(/**"}


def sources() -> list[Path]:
    """Every script of ours."""
    return sorted([*ROOT.glob("transformer_edu/book/*/js/**/*.js"), *ROOT.glob("book/_static/*.js")])


def options() -> jsbeautifier.BeautifierOptions:
    """What jsbeautifier is told: keep the line breaks that are there, and short blocks on one line."""
    chosen = jsbeautifier.default_options()
    chosen.indent_size = 2
    chosen.wrap_line_length = 0
    chosen.max_preserve_newlines = 2
    chosen.brace_style = "collapse,preserve-inline"
    chosen.operator_position = "preserve-newline"
    chosen.end_with_newline = True
    return chosen


def filled(statement: re.Match[str]) -> str:
    """An import statement with as many names on a line as fit."""
    names = ", ".join(statement[1].replace(",", " ").split())
    end = f" }} from {statement[2]};".replace(" ", UNBROKEN)
    text = textwrap.fill(f"import {{ {names}{end}", COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
    return text.replace(UNBROKEN, " ")


def formatted(text: str) -> str:
    """A script as it should be laid out."""
    text = jsbeautifier.beautify(text, options())
    for wrong, right in MISPLACED_BLANKS.items():
        text = text.replace(wrong, right)
    return IMPORT.sub(filled, text)


def long_lines(text: str) -> list[int]:
    """The numbers of the lines that are too long."""
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS]


def main() -> int:
    """Read the command line; lay out the files or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file would change")
    arguments = parser.parse_args()
    wrong = False
    for path in arguments.files or sources():
        before = path.read_text(encoding="utf-8")
        after = formatted(before)
        if after != before:
            print(f"{path}: {'would be laid out' if arguments.check else 'laid out'} anew")
            wrong |= arguments.check
        if not arguments.check:
            write_atomically(path, after.encode())
        for number in long_lines(after):
            print(f"{path}:{number}: more than {COLUMNS} columns; break this line by hand")
            wrong = True
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""`transformer-edu translate`: sentences from a file or standard input, one a line.

Every line has its answer in its place, or with --n-best K its K answers. Empty lines stand for a line that is empty or
cannot be translated; one that cannot is named on standard error, and the exit status is 1.
"""

import argparse
import io
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from transformer_edu.data.parallel import check_holds_text, decode_line, read_content, utf8_hint
from transformer_edu.support.options import whole_number
from transformer_edu.support.output import named, reader_may_leave, say
from transformer_edu.translate.commands.options import add_search_options, checked_search, open_model
from transformer_edu.translate.translator import Translation, Translator

CHUNK = 256  # sentences that are translated together
LINE_ENDS = re.compile("[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")  # where a program may begin a new line
Answer = list[Translation] | Exception


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("translate", help="translate a file or standard input, one sentence a line")
    parser.add_argument("file", nargs="?", help="text to translate (.gz too); without it, standard input")
    add_search_options(parser)
    parser.add_argument(
        "--n-best", type=whole_number(1), default=1, help="answers per sentence; more than one: with their scores"
    )
    parser.add_argument("--alignments", action="store_true", help="show for each piece which source piece it looks at")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Translate in chunks, and print each answer as soon as its chunk is done."""
    if sys.stdout is None:
        raise ValueError("standard output is closed: there is nowhere for the translations to go")
    lines, name = _source(options.file)
    translator = open_model(options.model)
    search = {**checked_search(options, translator), "n_best": options.n_best}
    # from a terminal one line at a time, so that each has its answer before the next is typed
    chunks = _chunks(_decoded(lines, name), 1 if options.file is None and sys.stdin.isatty() else CHUNK)
    failures = 0
    with reader_may_leave():
        for number, (line, answer) in enumerate(_answers(translator, chunks, search), start=1):
            if isinstance(answer, Exception):
                say(f"line {number} of {name}: {answer}")
                failures, answer = failures + 1, []
            with named("standard output"):
                _print(translator, line, answer, options)
    if failures:
        sys.exit(1)


def _source(file: str | None) -> tuple[Iterator[bytes], str]:
    """The lines of the file, or those of standard input as they come, and what to call their text."""
    if file is not None:
        return iter(io.BytesIO(read_content(file))), file
    if sys.stdin is None:
        raise ValueError("standard input is closed: name a file, or pipe sentences in")
    return _standard_input(), "standard input"


def _standard_input() -> Iterator[bytes]:
    with named("standard input"):
        yield from sys.stdin.buffer


def _chunks(lines: Iterator[str | Exception], size: int) -> Iterator[list[str | Exception]]:
    while chunk := list(islice(lines, size)):
        yield chunk


def _decoded(lines: Iterator[bytes], name: str) -> Iterator[str | Exception]:
    """Each line as text, or what is wrong with it."""
    first = next(lines, b"")
    check_holds_text(first, name)
    for number, line in enumerate(chain([first], lines), start=1):
        try:
            yield decode_line(line, first=number == 1)
        except UnicodeDecodeError as error:
            yield ValueError(f"it must be UTF-8, and is not {utf8_hint(error)}")


def _answers(
    translator: Translator, chunks: Iterable[list[str | Exception]], search: dict[str, Any]
) -> Iterator[tuple[str, Answer]]:
    """Each line with its translations, or with why it has none; what was printed is handed out after each chunk."""
    for chunk in chunks:
        found = iter(_translated(translator, [line for line in chunk if isinstance(line, str)], search))
        for line in chunk:
            yield ("", line) if isinstance(line, Exception) else (line, next(found))
        with named("standard output"):
            sys.stdout.flush()


def _translated(translator: Translator, texts: list[str], search: dict[str, Any]) -> list[Answer]:
    """The answers to all texts; where one of them fails, halves are tried, so that the others are translated."""
    try:
        return list(translator.translate_all(texts, **search))
    except (ValueError, RuntimeError, MemoryError) as error:
        if len(texts) == 1:
            return [error]
    middle = len(texts) // 2
    return [*_translated(translator, texts[:middle], search), *_translated(translator, texts[middle:], search)]


def _print(translator: Translator, text: str, answers: list[Translation], options: argparse.Namespace) -> None:
    """As many lines as answers were asked for, each with what belongs to it."""
    for answer in answers:
        scores = f"{answer.score:.4f}\t{answer.log_prob:.4f}\t" if options.n_best > 1 and answer.ids else ""
        print(scores + LINE_ENDS.sub(" ", answer.text))
        if options.alignments and answer.ids:
            for written, read, weight in translator.alignment(text, answer):
                print(f"  {_shown(written)}\t{_shown(read)}\t{weight:.2f}")
    print("\n" * (options.n_best - len(answers)), end="")


def _shown(piece: str) -> str:
    return LINE_ENDS.sub(" ", piece).replace("\t", " ")

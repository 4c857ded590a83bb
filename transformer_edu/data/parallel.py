"""Parallel text: sentences and their translations, from two files whose lines belong together, or from a TSV.

The rules are the same for every file:

- UTF-8, plain or gzip (name ends in `.gz`). A byte order mark, which some editors write first, is left out.
- One sentence a line. Only a line feed ends a line, with or without a carriage return before it. Other characters at
  which `str.splitlines` would cut (U+2028, U+0085, form feed) stay in their sentence: a cut at one of them in one of
  two files would shift every pair after it. The last line may lack its line feed.
- Nothing else is changed. Spaces at the end of a line stay.
"""

import codecs
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path

TextPair = tuple[str, str]
"""(source, target): a sentence and its translation."""

CHUNK = 1 << 16  # bytes


def read_lines(path: str | Path) -> list[str]:
    """The sentences of a text file, plain or `.gz`, without their line ends.

    Raises:
        ValueError: the file is empty, its gzip is cut off or damaged, or it is not UTF-8; with file and line.
        OSError: it cannot be opened (FileNotFoundError and the like).
    """
    return decode_lines(read_content(path), str(path))


def read_content(path: str | Path) -> bytes:
    """The bytes of a text file, unpacked if its name ends in `.gz`; ValueError and OSError as `read_lines`."""
    path = Path(path)
    content = path.read_bytes()
    return unpack(content, str(path)) if path.suffix.lower() == ".gz" else content


def read_parallel(source_path: str | Path, target_path: str | Path) -> list[TextPair]:
    """Pairs from two files: line n of the one is the translation of line n of the other.

    Raises:
        ValueError: as `read_lines`; the line counts differ; one side of a pair is empty.
        OSError: a file cannot be opened.
    """
    return pair_lines(read_lines(source_path), read_lines(target_path), str(source_path), str(target_path))


def read_tsv(path: str | Path) -> list[TextPair]:
    r"""Pairs from a file with two columns, `source\ttarget`: exactly one tab a line, no header, no quoting.

    Raises:
        ValueError: as `read_lines`; a line without exactly one tab; one side of a pair is empty; with file and line.
        OSError: the file cannot be opened.
    """
    pairs: list[TextPair] = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise ValueError(
                f"each line of {path} must have exactly one tab, between source and target, "
                f"got {len(columns) - 1} in line {number}: {line[:80]!r}"
            )
        if not all(column.strip() for column in columns):
            side = "target" if columns[0].strip() else "source"
            raise ValueError(f"the {side} of line {number} of {path} is empty: fill it in or delete the line")
        pairs.append((columns[0], columns[1]))
    return pairs


def pair_lines(
    source: Sequence[str], target: Sequence[str], source_name: str = "source", target_name: str = "target"
) -> list[TextPair]:
    """The lines of two texts as pairs; ValueError when their counts differ or a line is empty, with the text's name."""
    if len(source) != len(target):
        raise ValueError(
            f"both texts must have the same number of lines, got {len(source):,} in {source_name} and "
            f"{len(target):,} in {target_name}: a line is missing in one of them, or one is cut off"
        )
    for number, pair in enumerate(zip(source, target, strict=True), start=1):
        for line, name in zip(pair, (source_name, target_name), strict=True):
            if not line.strip():
                raise ValueError(
                    f"line {number} of {name} is empty, a pair needs text on both sides: "
                    f"fill it in, or delete line {number} from both texts"
                )
    return list(zip(source, target, strict=True))


def decode_lines(content: bytes, name: str) -> list[str]:
    """Bytes as lines of text; `name` is what an error calls them."""
    check_holds_text(content, name)
    lines = []
    for number, line in enumerate(io.BytesIO(content), start=1):
        try:
            lines.append(decode_line(line, first=number == 1))
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} must be UTF-8, but line {number} is not {utf8_hint(error)}") from error
    return lines


def check_holds_text(content: bytes, name: str) -> None:
    """Raise unless there is more than a byte order mark."""
    if not content.removeprefix(codecs.BOM_UTF8):
        raise ValueError(f"{name} is empty: it must hold at least one line of text")


def decode_line(line: bytes, first: bool) -> str:
    """One line's text, without its line end, and, if it is the `first`, without a byte order mark."""
    text = (line.removeprefix(codecs.BOM_UTF8) if first else line).decode("utf-8")
    return text.removesuffix("\n").removesuffix("\r")


def utf8_hint(error: UnicodeDecodeError) -> str:
    """Which byte is no UTF-8, and what to do about it."""
    byte = error.object[error.start]
    return f"(byte 0x{byte:02x}): save it as UTF-8, or convert it, as in `iconv -f latin1 -t utf-8`"


def unpack(content: bytes, name: str) -> bytes:
    """What a gzip file holds. ValueError, with the line, when it is cut off or damaged."""
    text = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            while part := stream.read1(CHUNK):
                text += part
    except EOFError as error:
        raise ValueError(f"{name} is cut off: its compressed data ends in line {_line(text)}; get it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{name} is damaged or no gzip file: {error}, in or after line {_line(text)}; get it again"
        ) from error
    return bytes(text)


def _line(before: bytes | bytearray) -> int:
    """The number of the line, from 1, that follows on the bytes `before`."""
    return before.count(b"\n") + 1

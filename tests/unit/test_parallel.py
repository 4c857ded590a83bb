"""Parallel text from two files or from a TSV, and what is said when a file is not right."""

import gzip
import random

import pytest

from transformer_edu.data import read_parallel, read_tsv
from transformer_edu.data.parallel import read_lines

GERMAN = ["Ein schwarzer Hund läuft.", "Zwei Mädchen \u2028 lachen. ", "Ein Mann"]
ENGLISH = ["A black dog runs.", "Two girls are laughing.", "A man"]


def write(path, lines, end="\n", encoding="utf-8"):
    content = "".join(line + end for line in lines).encode(encoding)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["text", "text.de.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_packing_line_ends_and_byte_order_mark_do_not_change_the_lines(tmp_path, name, end, encoding):
    assert read_lines(write(tmp_path / name, GERMAN, end, encoding)) == GERMAN


def test_only_a_line_feed_ends_a_line_and_the_last_may_lack_it(tmp_path):
    odd = ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh", "second"]
    assert len("\n".join(odd).splitlines()) > 2, "str.splitlines would cut here"
    assert read_lines(write(tmp_path / "text", odd)) == odd
    for content, lines in ((b"one\n\nthree", ["one", "", "three"]), (b"one\n\n", ["one", ""])):
        (tmp_path / "text").write_bytes(content)
        assert read_lines(str(tmp_path / "text")) == lines


PACKED = gzip.compress("\n".join(GERMAN).encode(), mtime=0)
LATIN = "Ein Hund\nschön\n".encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("text", LATIN, r"must be UTF-8, but line 2 is not \(byte 0xf6\).*iconv"),
        ("text.gz", gzip.compress(LATIN, mtime=0), r"must be UTF-8, but line 2 is not \(byte 0xf6\).*iconv"),
        ("text", "A man".encode("utf-16"), "must be UTF-8, but line 1 is not"),
        ("text", b"", "is empty"),
        ("text", b"\xef\xbb\xbf", "is empty"),
        ("text.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("text.gz", b"", "is empty"),
        ("text.gz", b"no gzip at all", "is damaged or no gzip file"),
        ("text.gz", PACKED[:-20] + bytes([PACKED[-20] ^ 64]) + PACKED[-19:], "is damaged or no gzip file"),
    ],
)
def test_a_file_that_is_no_text_is_reported_with_the_line(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} {says}"):
        read_lines(tmp_path / name)


def test_a_cut_off_gzip_is_reported_wherever_it_is_cut_with_the_line_where_it_ends(tmp_path):
    for length in range(1, len(PACKED)):
        (tmp_path / "text.gz").write_bytes(PACKED[:length])
        with pytest.raises(ValueError, match=r"text\.gz is (cut off|damaged).* line \d+"):
            read_lines(tmp_path / "text.gz")
    rng = random.Random(0)
    whole = gzip.compress("\n".join(str(rng.random()) for _ in range(20_000)).encode())
    (tmp_path / "text.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cut off") as error:
        read_lines(tmp_path / "text.gz")
    assert 9_000 < int(str(error.value).split("line ")[1].split(";")[0]) < 11_000


def test_lines_of_two_files_become_pairs_also_when_one_is_packed(tmp_path):
    source, target = write(tmp_path / "a.de.gz", GERMAN), write(tmp_path / "a.en", ENGLISH)
    assert read_parallel(source, target) == list(zip(GERMAN, ENGLISH, strict=True))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_parallel(source, tmp_path / "nowhere")


EMPTY = r"line 2 of .*{} is empty.*delete line 2 from both"


@pytest.mark.parametrize(
    ("german", "english", "says"),
    [
        (GERMAN, ENGLISH[:2], r"got 3 in .*a\.de and 2 in .*a\.en"),
        (GERMAN[:2], ENGLISH, r"got 2 in .*a\.de and 3 in .*a\.en"),
        *(([GERMAN[0], blank, GERMAN[2]], ENGLISH, EMPTY.format("a.de")) for blank in ("", "\t", "\xa0")),
        (GERMAN, [ENGLISH[0], "", ENGLISH[2]], EMPTY.format("a.en")),
    ],
)
def test_lines_that_are_no_pairs_are_reported_with_their_files(tmp_path, german, english, says):
    with pytest.raises(ValueError, match=says):
        read_parallel(write(tmp_path / "a.de", german), write(tmp_path / "a.en", english))


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_a_tsv_gives_the_same_pairs_and_quotes_are_text(tmp_path, name):
    pairs = [*zip(GERMAN, ENGLISH, strict=True), ('"ja"', '"yes')]
    assert read_tsv(write(tmp_path / name, ["\t".join(pair) for pair in pairs], "\r\n")) == pairs


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no tab", r"a\.tsv must have exactly one tab.*got 0 in line 2"),
        ("a\tb\tc", r"a\.tsv must have exactly one tab.*got 2 in line 2"),
        ("\tyes", r"the source of line 2 of .*a\.tsv is empty"),
        ("ja\t ", r"the target of line 2 of .*a\.tsv is empty"),
    ],
)
def test_a_line_of_a_tsv_that_is_no_pair_is_reported(tmp_path, line, says):
    with pytest.raises(ValueError, match=says):
        read_tsv(write(tmp_path / "a.tsv", ["ja\tyes", line]))

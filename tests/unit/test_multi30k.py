"""Multi30k from a folder that the user names, and from the cache."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.file_server import BAD_ANSWERS, TEXTS, Server, good, packed, running_server, use_small_texts
from transformer_edu.data import multi30k as module
from transformer_edu.data import multi30k_pairs
from transformer_edu.data.fetch import DownloadError, fetch
from transformer_edu.data.multi30k import FOLDER_VARIABLE, HOME, LANGUAGES, SPLITS, cache_folder

PAIRS = list(zip(TEXTS["de"], TEXTS["en"], strict=True))


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Three lines as the validation split, except where the real copy is read; a cache of the test's own."""
    if "corpus_folder" not in request.fixturenames:
        use_small_texts(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
def at_home(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The local server in the place of the published home."""
    monkeypatch.setattr(module, "fetch", lambda url, *limits: fetch(url.replace(HOME, server.home), *limits))
    return server


def test_the_cache_is_filled_once_and_then_used(at_home):
    assert multi30k_pairs("val") == PAIRS
    assert at_home.requests == ["/raw/val.de.gz", "/raw/val.en.gz"]
    assert sorted(os.listdir(cache_folder())) == ["val.de.gz", "val.en.gz"]
    assert multi30k_pairs("val", source="en", target="de") == [(english, german) for german, english in PAIRS]
    assert len(at_home.requests) == 2


def test_a_damaged_file_in_the_cache_is_downloaded_again(at_home):
    multi30k_pairs("val")
    (cache_folder() / "val.en.gz").write_bytes(packed("en")[:30])
    assert multi30k_pairs("val") == PAIRS
    assert at_home.requests[2:] == ["/raw/val.en.gz"]


def test_a_failed_download_names_the_way_without_network_and_the_next_call_works(at_home):
    at_home.answer = BAD_ANSWERS["404"][0]
    with pytest.raises(DownloadError, match=rf"404.*Or name a folder that has the files.*{FOLDER_VARIABLE}"):
        multi30k_pairs("val")
    at_home.answer = good
    assert multi30k_pairs("val") == PAIRS


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_nothing_is_downloaded_into_a_folder_that_the_user_named(at_home, tmp_path, monkeypatch, by):
    folder = tmp_path / "mine"
    folder.mkdir()
    if by == "environment":
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    with pytest.raises(
        FileNotFoundError, match=r"mine must hold val\.de\.gz .*To get it: .*download.*by hand from http"
    ):
        multi30k_pairs("val", folder if by == "argument" else None)
    (folder / "val.de.gz").write_bytes(packed("de", end="\r\n"))
    (folder / "val.en").write_text("\n".join(TEXTS["en"]), encoding="utf-8-sig")
    assert multi30k_pairs("val", str(folder) if by == "argument" else None) == PAIRS
    assert at_home.requests == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (packed("de")[:40], r"val\.de\.gz is cut off"),
        (packed("de", encoding="latin-1"), r"val\.de\.gz must be UTF-8, but line 1"),
        (gzip.compress(b"ein\nHund\n"), r"val\.de\.gz must have 3 lines, got 2"),
        (gzip.compress(b"ein\nHund\n.\n"), r"val\.de\.gz is not the published text"),
    ],
    ids=["cut off", "Latin-1", "fewer lines", "altered"],
)
def test_a_wrong_file_in_a_folder_that_the_user_named_is_reported_and_kept(tmp_path, content, reason):
    (tmp_path / "val.de.gz").write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        multi30k_pairs("val", tmp_path)
    assert (tmp_path / "val.de.gz").read_bytes() == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "test"}, r"split must be one of 'train', 'val', 'test_2016_flickr', got 'test'"),
        ({"split": "val", "source": "fr"}, "source must be one of 'de', 'en', got 'fr'"),
        ({"split": "val", "target": "fr"}, "target must be one of 'de', 'en', got 'fr'"),
        ({"split": "val", "target": "de"}, "source and target must be two languages, got 'de' for both"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        multi30k_pairs(**arguments)


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache" / "transformer_edu" / "multi30k"
    for nowhere in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", nowhere)
        assert cache_folder() == Path.home() / ".cache" / "transformer_edu" / "multi30k"


@pytest.mark.parametrize("split", SPLITS)
def test_the_real_copy_is_the_published_text_packed_or_unpacked(corpus_folder, tmp_path, split):
    pairs = multi30k_pairs(split, corpus_folder)
    assert len(pairs) == {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}[split]
    for language in LANGUAGES:
        with gzip.open(corpus_folder / f"{split}.{language}.gz") as stream:
            (tmp_path / f"{split}.{language}").write_bytes(stream.read())
    assert multi30k_pairs(split, tmp_path) == pairs


def test_the_real_first_pair_is_known(corpus_folder, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(corpus_folder))
    german, english = multi30k_pairs("train")[0]
    assert german == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert english == "Two young, White males are outside near many bushes."


def test_a_single_changed_letter_in_the_real_text_is_noticed(corpus_folder, tmp_path):
    for language in LANGUAGES:
        with gzip.open(corpus_folder / f"val.{language}.gz") as stream:
            text = stream.read()
        (tmp_path / f"val.{language}").write_bytes(text if language == "de" else text.replace(b"A", b"a", 1))
    with pytest.raises(ValueError, match=r"val\.en is not the published text"):
        multi30k_pairs("val", tmp_path)

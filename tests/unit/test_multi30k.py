"""Multi30k from a folder that the user names, and from the cache, which is filled from a server."""

import errno
import gzip
import hashlib
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from transformer_edu.data import multi30k, multi30k_pairs
from transformer_edu.data.multi30k import FOLDER_VARIABLE, LANGUAGES, SPLITS, cache_folder, download

TEXTS = {
    "de": ["Ein Hund läuft.", "Zwei Mädchen lachen. ", "Äpfel"],
    "en": ["A dog runs.", "Two girls laugh.", "Apples"],
}
PAIRS = list(zip(TEXTS["de"], TEXTS["en"], strict=True))


def packed(language, end="\n", encoding="utf-8"):
    return gzip.compress("".join(line + end for line in TEXTS[language]).encode(encoding), mtime=0)


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder. One whose name is in `broken` is announced whole and broken off."""

    def do_GET(self):
        self.server.requests.append(self.path[1:])
        super().do_GET()

    def copyfile(self, source, outputfile):
        outputfile.write(source.read()[: -20 if self.path[1:] in self.server.broken else None])

    def log_message(self, *given):
        pass


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A server in the place of the published home, with three lines for a split, and a cache of the test's own."""
    monkeypatch.setitem(SPLITS, "val", 3)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    for language, lines in TEXTS.items():
        (folder / f"val.{language}.gz").write_bytes(packed(language))
        monkeypatch.setitem(multi30k.TEXT_SHA256, f"val.{language}", multi30k.digest(lines))
        checksum = hashlib.sha256(packed(language)).hexdigest()
        monkeypatch.setitem(multi30k.PACKED_SHA256, f"val.{language}.gz", checksum)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        server.folder, server.requests, server.broken = folder, [], set()
        monkeypatch.setattr(multi30k, "HOME", f"http://127.0.0.1:{server.server_address[1]}/")
        monkeypatch.setattr("time.sleep", lambda seconds: None)  # between two tries
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.long
def test_the_cache_is_filled_once_and_then_used_and_a_damaged_file_of_it_downloaded_again(home):
    assert multi30k_pairs("val") == PAIRS
    assert sorted(os.listdir(cache_folder())) == ["val.de.gz", "val.en.gz"]
    assert multi30k_pairs("val", source="en", target="de") == [(english, german) for german, english in PAIRS]
    assert home.requests == ["val.de.gz", "val.en.gz"]
    (cache_folder() / "val.en.gz").write_bytes(packed("en")[:30])
    assert multi30k_pairs("val") == PAIRS
    assert home.requests[2:] == ["val.en.gz"]


BAD_ANSWERS = {
    "no such file": (lambda home: (home.folder / "val.de.gz").unlink(), "404 Client Error"),
    "another file": (lambda home: (home.folder / "val.de.gz").write_bytes(packed("en")), "does not match"),
    "cut off": (lambda home: (home.folder / "val.de.gz").write_bytes(packed("de")[:-20]), "does not match"),
    "broken off": (lambda home: home.broken.add("val.de.gz"), "IncompleteRead|Connection broken"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_is_a_line_that_names_the_file_and_leaves_what_was_there(home, case, monkeypatch):
    spoil, reason = BAD_ANSWERS[case]
    spoil(home)
    for before in (None, b"old"):
        if before:
            (cache_folder() / "val.de.gz").write_bytes(before)
        with pytest.raises(OSError, match=rf"val\.de\.gz cannot be downloaded.*({reason}).*{FOLDER_VARIABLE}") as error:
            multi30k_pairs("val")
        assert "\n" not in str(error.value)
        assert [file.read_bytes() for file in cache_folder().iterdir()] == ([before] if before else [])
    assert home.requests == ["val.de.gz"] * 6, "three tries each time"
    (home.folder / "val.de.gz").write_bytes(packed("de"))
    home.broken.clear()
    assert multi30k_pairs("val") == PAIRS


def test_a_server_that_nobody_hears_from_and_a_full_disk_are_told_too(home, monkeypatch, tmp_path):
    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "move", full)
        with pytest.raises(OSError, match=r"val\.de\.gz cannot be downloaded.*No space left on device"):
            multi30k_pairs("val")
    assert os.listdir(cache_folder()) == []
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"val\.de\.gz cannot be downloaded to .*file"):
        download("val", "de", tmp_path / "file" / "deeper")
    monkeypatch.setattr(multi30k, "HOME", "http://127.0.0.1:9/")  # where nothing listens
    with pytest.raises(OSError, match=r"val\.de\.gz cannot be downloaded.*refused"):
        multi30k_pairs("val")


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_nothing_is_downloaded_into_or_changed_in_a_folder_that_the_user_named(home, tmp_path, monkeypatch, by):
    folder = tmp_path / "mine"
    folder.mkdir()
    if by == "environment":
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    given = str(folder) if by == "argument" else None
    missing = r"mine must hold val\.de\.gz .*To get it: .*download.*by hand from http"
    with pytest.raises(FileNotFoundError, match=missing):
        multi30k_pairs("val", given)
    (folder / "val.de.gz").write_bytes(packed("de", end="\r\n"))
    (folder / "val.en").write_text("\n".join(TEXTS["en"]), encoding="utf-8-sig")
    assert multi30k_pairs("val", given) == PAIRS
    for lines, reason in ((2, "must have 3 lines, got 2"), (3, "is not the published text")):
        (folder / "val.de.gz").write_bytes(content := gzip.compress(b"Hund\n" * lines))
        with pytest.raises(ValueError, match=rf"val\.de\.gz {reason}"):
            multi30k_pairs("val", given)
        assert (folder / "val.de.gz").read_bytes() == content
    assert home.requests == []


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.long
def test_the_real_copy_is_what_is_published_packed_or_unpacked(corpus_folder, tmp_path, split):
    pairs = multi30k_pairs(split, corpus_folder)
    assert len(pairs) == {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}[split]
    for language in LANGUAGES:
        file = corpus_folder / f"{split}.{language}.gz"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == multi30k.PACKED_SHA256[file.name]
        (tmp_path / f"{split}.{language}").write_bytes(gzip.decompress(file.read_bytes()))
    assert multi30k_pairs(split, tmp_path) == pairs
    if split == "train":
        german = "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
        assert pairs[0] == (german, "Two young, White males are outside near many bushes.")

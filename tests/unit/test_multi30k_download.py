"""Download one file of Multi30k: bad answers of the server, a full disk, a second try."""

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.unit.file_server import BAD_ANSWERS, LIMITS, PATIENT, Server, good, packed, running_server, use_small_texts
from transformer_edu.data.fetch import DownloadError
from transformer_edu.data.multi30k import LANGUAGES, download


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Three lines as the validation split, except where the real copy is read."""
    if "corpus_folder" not in request.fixturenames:
        use_small_texts(monkeypatch)


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_is_a_clear_error_leaves_nothing_behind_and_the_next_try_works(server, tmp_path, case):
    server.answer, reason = BAD_ANSWERS[case]
    with pytest.raises(DownloadError, match=reason) as error:
        download("val", "de", tmp_path / "new", home=server.home, **{**PATIENT, **LIMITS.get(case, {})})
    assert f"{server.home}/val.de.gz" in str(error.value)
    assert not (tmp_path / "new").exists()
    assert server.requests == ["/raw/val.de.gz"]
    server.answer = good
    path = download("val", "de", tmp_path / "new", home=server.home, **PATIENT)
    assert path.read_bytes() == packed("de")
    assert os.listdir(tmp_path / "new") == ["val.de.gz"]


def test_a_failed_download_keeps_the_file_that_was_there(server, tmp_path):
    path = download("val", "de", tmp_path, home=server.home, **PATIENT)
    server.answer = BAD_ANSWERS["altered"][0]
    with pytest.raises(DownloadError):
        download("val", "de", tmp_path, home=server.home, **PATIENT)
    assert path.read_bytes() == packed("de")
    assert os.listdir(tmp_path) == ["val.de.gz"]


def test_a_full_disk_is_a_clear_error_and_the_next_try_works(server, tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DownloadError, match=r"val\.de\.gz cannot be written: No space left on device"):
            download("val", "de", tmp_path, home=server.home, **PATIENT)
    assert os.listdir(tmp_path) == []
    assert download("val", "de", tmp_path, home=server.home, **PATIENT).read_bytes() == packed("de")


def test_a_folder_that_cannot_be_written_is_a_clear_error_and_the_next_try_works(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match=r"file/deeper/val\.de\.gz cannot be written: Not a directory"):
        download("val", "de", tmp_path / "file" / "deeper", home=server.home, **PATIENT)
    (tmp_path / "file").unlink()
    assert download("val", "de", tmp_path / "file" / "deeper", home=server.home, **PATIENT).exists()


def test_the_real_files_pass_through_a_download(corpus_folder, server, tmp_path):
    server.answer = lambda handler: handler.say((corpus_folder / Path(handler.path).name).read_bytes())
    for language in LANGUAGES:
        path = download("train", language, tmp_path, home=server.home, **PATIENT)
        assert path.read_bytes() == (corpus_folder / path.name).read_bytes()


def test_processes_that_download_at_once_end_with_one_whole_file(server, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: download("val", "en", tmp_path, home=server.home, **PATIENT), range(8)))
    assert {path.read_bytes() for path in paths} == {packed("en")}
    assert os.listdir(tmp_path) == ["val.en.gz"]

"""Files are written whole or not at all, and what is no file of its own is written to, not replaced."""

import multiprocessing
import os
import stat
import sys

import pytest

from transformer_edu.support.files import check_writable, write_atomically


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def test_a_new_file_gets_the_permissions_that_the_umask_leaves_and_an_old_one_keeps_its_own(tmp_path, umask):
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o755)
    for name, mask, wanted in (("new", 0o022, 0o644), ("private", 0o077, 0o600), ("old", 0o077, 0o755)):
        umask(mask)
        write_atomically(tmp_path / name, b"text")
        assert (mode(tmp_path / name), (tmp_path / name).read_bytes()) == (wanted, b"text")


@pytest.mark.parametrize("there", [True, False], ids=["target", "no target yet"])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, there):
    folder = tmp_path / "folder"
    folder.mkdir()
    if there:
        (folder / "target").write_bytes(b"old")
    (tmp_path / "middle").symlink_to(folder / "target")
    (tmp_path / "link").symlink_to("middle")
    check_writable(tmp_path / "link")
    write_atomically(tmp_path / "link", b"new")
    assert (folder / "target").read_bytes() == b"new"
    assert {file.name: file.is_symlink() for file in tmp_path.iterdir()} == {
        "folder": False,
        "link": True,
        "middle": True,
    }
    assert os.listdir(folder) == ["target"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no terminals and pipes in the file system")
def test_a_device_and_a_pipe_are_written_to_and_stay(tmp_path):
    ours, terminal = os.openpty()  # not /dev/null, which a fault would replace for all programs
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    (tmp_path / "link").symlink_to(os.ttyname(terminal))
    for path, end in ((os.ttyname(terminal), ours), (tmp_path / "link", ours), (tmp_path / "pipe", reader)):
        check_writable(path)
        write_atomically(path, b"text")
        assert os.read(end, 100) == b"text"
        assert not stat.S_ISREG(os.stat(path).st_mode)
    assert (tmp_path / "link").is_symlink()
    for descriptor in (reader, ours, terminal):
        os.close(descriptor)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no name for standard output")
def test_standard_output_keeps_what_was_printed_before_and_after(tmp_path):
    def write():
        os.chdir(tmp_path)
        os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT), 1)
        for name in ("/dev/stdout", "/dev/fd/1", "out"):
            os.write(1, f"{name}\n".encode())
            check_writable(name)
            write_atomically(name, b"content\n")

    child = multiprocessing.get_context("fork").Process(target=write)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert (tmp_path / "out").read_text() == "/dev/stdout\ncontent\n/dev/fd/1\ncontent\nout\ncontent\n"


NAMES = ["x" * 200, "é" * 100, "-"] if sys.platform == "win32" else ["x" * 255, "é" * 127, "a\nb", " ", "*", "-"]
NAMES += [os.fsdecode(b"\xff\xfe" * 100)] if sys.platform == "linux" else []  # other disks take only Unicode


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:3]))
def test_every_name_that_the_disk_takes_can_be_written(tmp_path, name):
    path = tmp_path / "made" / name
    check_writable(path)
    assert os.listdir(tmp_path) == []
    for content in (b"one", b"two"):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert os.listdir(path.parent) == [name]


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("folder", IsADirectoryError, "it is a folder"),
        ("link to folder", IsADirectoryError, "it is a folder"),
        ("file/far/below", NotADirectoryError, "Not a directory"),
        ("loop", OSError, "levels of symbolic links"),
        ("missing/" + "x" * 256 + "/below", OSError, "name too long"),
        ("read-only", PermissionError, "it is read-only"),
    ],
)
def test_what_cannot_be_written_is_named_beforehand_and_leaves_nothing(tmp_path, monkeypatch, name, error, says):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"file")
    (tmp_path / "read-only").write_bytes(b"kept")
    (tmp_path / "read-only").chmod(0o444)
    (tmp_path / "link to folder").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(os, "access", lambda path, kind: mode(path) & 0o200)  # as if we were not root
    for attempt in (check_writable, lambda path: write_atomically(path, b"text")):
        with pytest.raises(error, match=says) as raised:
            attempt(tmp_path / name)
        assert raised.value.filename == str(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_bytes() + (tmp_path / "read-only").read_bytes() == b"filekept"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    "stop", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "interrupt"]
)
def test_a_full_disk_or_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, stop):
    def fail(*given):
        raise stop

    monkeypatch.setattr(os, step, fail)
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(type(stop)) as raised:
        write_atomically(tmp_path / "file", b"new")
    assert isinstance(stop, KeyboardInterrupt) or "No space left on device: " in str(raised.value)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"

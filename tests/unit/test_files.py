"""Files are written whole or not at all, and what is no file of its own is written to, not replaced."""

import os
import stat
import subprocess
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


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_gets_the_permissions_that_the_umask_leaves(tmp_path, umask, mask, expected):
    umask(mask)
    write_atomically(tmp_path / "new", b"text")
    assert mode(tmp_path / "new") == expected


@pytest.mark.parametrize("own", [0o600, 0o664, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, umask, own):
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(own)
    umask(0o027)
    write_atomically(tmp_path / "old", b"new")
    assert (mode(tmp_path / "old"), (tmp_path / "old").read_bytes()) == (own, b"new")


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
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert (folder / "target").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "middle"]
    assert os.listdir(folder) == ["target"]


def test_a_device_stays_a_device(tmp_path):
    ours, terminal = os.openpty()  # not /dev/null, which a fault would replace for all programs
    (tmp_path / "link").symlink_to(os.ttyname(terminal))
    for path in (os.ttyname(terminal), tmp_path / "link"):
        check_writable(path)
        write_atomically(path, b"text")
        assert stat.S_ISCHR(os.stat(path).st_mode)
        assert os.read(ours, 100) == b"text"
    assert (tmp_path / "link").is_symlink()
    os.close(ours)
    os.close(terminal)


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", b"text")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert os.read(reader, 100) == b"text"
    os.close(reader)


def test_standard_output_keeps_what_was_printed_before_and_after(tmp_path):
    code = (
        "from transformer_edu.support.files import check_writable, write_atomically\n"
        "for name in ('/dev/stdout', '/dev/fd/1', 'out'):\n"
        "    print(name, flush=True)\n"
        "    check_writable(name)\n"
        "    write_atomically(name, b'content\\n')\n"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == "/dev/stdout\ncontent\n/dev/fd/1\ncontent\nout\ncontent\n"


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other disks take only Unicode")
NOT_UNICODE = pytest.param(os.fsdecode(b"\xff\xfe" * 100), marks=LINUX, id="no Unicode")


@pytest.mark.parametrize(
    "name", ["x" * 255, "é" * 127, "a\nb", " ", "*", "-", NOT_UNICODE], ids=lambda name: ascii(name[:3])
)
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
        ("file/below", NotADirectoryError, "Not a directory"),
        ("file/far/below", NotADirectoryError, "Not a directory"),
        ("loop", OSError, "levels of symbolic links"),
        ("x" * 256, OSError, "name too long"),
        ("missing/" + "x" * 256 + "/below", OSError, "name too long"),
    ],
)
def test_what_cannot_be_written_is_named_beforehand_and_leaves_nothing(tmp_path, name, error, says):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"file")
    (tmp_path / "link to folder").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    for attempt in (check_writable, lambda path: write_atomically(path, b"text")):
        with pytest.raises(error, match=says) as raised:
            attempt(tmp_path / name)
        assert raised.value.filename == str(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_bytes() == b"file"


def test_what_is_read_only_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"kept")
    (tmp_path / "file").chmod(0o444)
    if os.access(tmp_path / "file", os.W_OK):  # root may write everything
        monkeypatch.setattr(os, "access", lambda path, kind: False)
    for attempt in (check_writable, lambda path: write_atomically(path, b"text")):
        with pytest.raises(PermissionError, match=r"read-only.*file'"):
            attempt(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"kept"
    assert os.listdir(tmp_path) == ["file"]


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

"""Foreign code runs apart: whatever it does, one sentence says so, nothing outside is changed, nothing is left."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from transformer_edu.judge import sandbox
from transformer_edu.judge.sandbox import Limits

pytestmark = pytest.mark.long
LINUX = sys.platform == "linux"
only_linux = pytest.mark.skipif(not LINUX, reason="only Linux lets a process give these up")
TORCH = "import torch\n"
CHILDREN = Path(__file__).parent / "children"


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch, tmp_path):
    """A temporary folder of its own for every test, empty in the end; no child of ours alive in the end."""
    monkeypatch.setattr(sys, "path", [os.fspath(CHILDREN), *sys.path])
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    assert list(tmp_path.glob("transformer-edu-*")) == []
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert [p.pid for p in psutil.process_iter(["environ"]) if str(tmp_path) in str(p.info["environ"])] == []


def act(locked, before="", **limits):
    """Run `before` and then, locked down, `locked` in the sandbox."""
    limits = {"seconds": 20.0, **limits}
    return sandbox.run("act", f"{before}\n# locked\n{locked}\n".encode(), Limits(**limits))


def found(locked, before="", **limits):
    """What `locked` found, when all went well."""
    outcome = act(locked, before, **limits)
    assert outcome.trouble is None, outcome
    return json.loads(outcome.answer)


def attempt(what):
    """Source that tries something and finds the name of the exception."""
    return (
        f"try:\n    {what}\nexcept BaseException as error:\n    found = type(error).__name__\nelse:\n    found = 'done'"
    )


def test_an_answer_comes_as_it_was_given():
    outcome = act("print('on the way')\nsandbox.answer(bytes(range(256)) * 9)")
    assert outcome == sandbox.Outcome(bytes(range(256)) * 9, None, "on the way\n")


def test_prints_before_and_after_do_not_disturb_the_answer():
    source = "import os, sys\nos.write(1, b'one ')\nprint('two ', end='')\nprint('three', file=sys.stderr)"
    outcome = act(source, before="print('nought ', end='')")
    assert (outcome.answer, outcome.printed) == (b"null", "nought one two three\n")


def test_an_endless_loop_is_stopped():
    start = time.monotonic()
    outcome = act("print('here')\nwhile True: pass", seconds=1.0)
    assert outcome == sandbox.Outcome(None, "stopped after 1 s: an endless loop?", "here\n")
    assert time.monotonic() - start < 60


def test_a_loop_that_refuses_to_be_interrupted_is_stopped():
    source = (
        "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\n"
    )
    assert act(source + "while True: pass", seconds=1.0).trouble == "stopped after 1 s: an endless loop?"


@pytest.mark.parametrize(
    ("source", "trouble"),
    [
        ("exit()", "ended the process itself (exit status 0)"),
        ("import sys; sys.exit(3)", "ended the process itself (exit status 3)"),
        ("import os; os._exit(0)", "ended the process itself (exit status 0)"),
        ("import os; os._exit(77)", "ended the process itself (exit status 77)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "killed by signal SIGTERM"),
        ("import os; os.abort()", "killed by signal SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal SIGSEGV"),
        ("raise ValueError('of all things')", "failed with ValueError: of all things"),
        (
            "raise RuntimeError('[x.cpp:9] DefaultCPUAllocator: can\\'t allocate memory: 4 bytes')",
            "asked for more memory than 200 MB",
        ),
        ("raise KeyboardInterrupt", "killed by signal SIGINT"),
    ],
)
def test_every_ending_is_told_in_a_sentence(source, trouble):
    outcome = act(source, memory=200 << 20)
    assert outcome.answer is None
    assert outcome.trouble == trouble


def test_a_module_that_is_not_there_is_told():
    outcome = sandbox.run("no_such_module_at_all", b"")
    assert outcome.answer is None
    assert outcome.trouble == "ended the process itself (exit status 1)"
    assert "No module named no_such_module_at_all" in outcome.printed


def test_a_child_that_never_locks_down_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(sandbox, "TO_START", 1.0)
    assert act("", before="while True: pass").trouble == "did not start in time"


def test_what_is_left_running_at_the_answer_is_ended():
    source = (
        "import atexit, threading, time\n"
        "atexit.register(time.sleep, 60)\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "class Late:\n    def __del__(self): exit(3)\n"
        "late = Late()\n"
    )
    start = time.monotonic()
    assert found(source + "found = 'answered'") == "answered"
    assert time.monotonic() - start < 50


@only_linux
def test_a_large_bytearray_is_refused():
    assert act("bytearray(4 << 30)").trouble == "asked for more memory than 2 GB"
    assert found("bytearray(1 << 30)\nfound = 'enough for this'") == "enough for this"


@only_linux
def test_a_large_tensor_is_refused_and_threads_of_torch_still_work():
    source = (
        "torch.set_num_threads(2)\n"
        "one = torch.ones(400, 400)\n"
        "found = [(one @ one).sum().item(), torch.get_num_threads(), len(os.listdir('/proc/self/task')) > 1]\n"
        "thread = threading.Thread(target=lambda: found.append('in a thread'))\n"
        "thread.start(); thread.join()\n"
        "with concurrent.futures.ThreadPoolExecutor(4) as pool: found.append(sum(pool.map(abs, range(5))))\n"
        "try: torch.zeros(1 << 30)\n"
        "except RuntimeError as error: found.append(sandbox.out_of_memory(error))\n"
    )
    before = TORCH + "import concurrent.futures, os, threading"
    assert found(source, before) == [400.0**3, 2, True, "in a thread", 10, True]


@only_linux
def test_limits_cannot_be_raised():
    source = "import resource as r\n" + attempt("r.setrlimit(r.RLIMIT_AS, (r.RLIM_INFINITY, r.RLIM_INFINITY))")
    assert found(source) in ("PermissionError", "ValueError")
    assert found("import resource as r\nfound = r.getrlimit(r.RLIMIT_FSIZE)[1]", file=5000) == 5000


@only_linux
@pytest.mark.parametrize(
    "what",
    [
        "os.fork()",
        "subprocess.Popen(['true'])",
        "os.system('true') == 0 or os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "multiprocessing.get_context('fork').Process(target=print).start()",
    ],
)
def test_no_process_is_started(what):
    assert found("import os, subprocess, multiprocessing\n" + attempt(what)) == "PermissionError"


@only_linux
def test_a_fork_bomb_has_no_effect():
    source = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert act(source, seconds=1.0).trouble == "stopped after 1 s: an endless loop?"


@only_linux
def test_no_connection_is_made():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        what = f"socket.create_connection(('127.0.0.1', {port}), 5)"
        assert found("import socket\n" + attempt(what)) == "PermissionError"
    assert found("import socket\n" + attempt("socket.socket(socket.AF_UNIX)")) == "PermissionError"


@only_linux
def test_other_processes_get_no_signal():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert found("import os\n" + attempt(f"os.kill({other.pid}, 9)")) == "PermissionError"
        assert found("import os, signal\n" + attempt(f"os.pidfd_open({other.pid})")) == "PermissionError"
        assert other.poll() is None
        other.stdin.close()


def without_landlock():
    return bool([one for one in found("found = unprotected") if "Files outside" in one])


@only_linux
def test_files_outside_its_folder_are_not_changed(tmp_path):
    if without_landlock():
        pytest.skip("this kernel has no Landlock, and the sandbox says so")
    victim = tmp_path / "victim"
    victim.write_text("whole")
    state = victim.stat()
    for what in (
        f"open({str(victim)!r}, 'a')",
        f"os.truncate({str(victim)!r}, 0)",
        f"os.unlink({str(victim)!r})",
        f"os.rename({str(victim)!r}, 'mine')",
        f"os.link({str(victim)!r}, 'mine')",
        f"os.chmod({str(victim)!r}, 0o777)",
        f"os.utime({str(victim)!r})",
        f"os.setxattr({str(victim)!r}, 'user.mine', b'')",
        f"open({str(tmp_path / 'new')!r}, 'x')",
        f"os.mkdir({str(tmp_path / 'new')!r})",
        "open('/dev/shm/new', 'x')",
        "open(f'/proc/{os.getppid()}/mem', 'r+b')",
        "open(f'/proc/{os.getppid()}/environ').read()",  # where our secrets are
    ):
        assert found("import os\n" + attempt(what)) in ("PermissionError", "OSError"), what
    assert (victim.read_text(), victim.stat().st_mtime_ns) == ("whole", state.st_mtime_ns)
    assert (victim.stat().st_mode, sorted(tmp_path.iterdir())) == (state.st_mode, [victim])


def test_its_own_folder_is_a_place_to_write():
    source = (
        "import os, pathlib, tempfile\n"
        "pathlib.Path('a/b').mkdir(parents=True)\n"
        "pathlib.Path('a/b/c').write_text('here')\n"
        "os.rename('a/b/c', 'd')\n"
        "with tempfile.TemporaryDirectory() as folder: pathlib.Path(folder, 'e').touch()\n"
        "open(os.devnull, 'w').write('nothing')\n"
        "found = [os.listdir(), os.path.samefile(os.path.expanduser('~'), '.')]\n"
    )
    names, at_home = found(source)
    assert (sorted(names), at_home) == (["a", "d"], True)


def test_a_large_file_is_refused():
    if LINUX:
        source = "import os\nfile = open('large', 'wb', buffering=0)\nfile.write(bytes(1000))\n"
        assert (
            found(source + attempt("file.write(bytes(1 << 20)) == 1 << 20 or file.write(b'more')"), file=9999)
            == "OSError"
        )


def test_many_files_are_too_much():
    source = "for n in range(10**9): open(str(n), 'wb').write(bytes(5000))"
    outcome = act(source, file=1 << 20)
    assert outcome.trouble == "wrote more than 4 MB of files"


def test_folders_nested_without_end_are_deleted():
    source = "import os\nfor _ in range(1500):\n    os.mkdir('deeper')\n    os.chdir('deeper')\nos.mkdir('locked', 0)"
    assert found(source) is None


def test_megabytes_of_prints_neither_block_nor_grow():
    source = "line = 'x' * 1023\nfor _ in range(30 << 10): print(line)\nprint('the end')"
    outcome = act(source, printed=1000)
    assert outcome.trouble is None
    assert len(outcome.printed) == 1000
    assert outcome.printed.endswith("x\nthe end\n")


def test_an_answer_that_is_too_long_is_not_read():
    outcome = act("sandbox.answer(bytes(32 << 20))", output=1 << 20)
    assert (outcome.answer, outcome.trouble) == (None, "gave an answer of more than 1 MB")
    longest = act("sandbox.answer(bytes(1 << 20))", output=1 << 20)
    assert longest == sandbox.Outcome(bytes(1 << 20), None, "")


@pytest.mark.parametrize("written", ["b'?'", "b'x' * 5000"])
def test_what_foreign_code_writes_to_the_channel_is_trouble(written):
    writing = f"for n in range(3, 128):\n    try: os.write(n, {written})\n    except OSError: pass"
    outcome = act(f"import os\n{writing}\nfound = 'forged'")
    assert (outcome.answer, outcome.trouble) == (None, "wrote something of its own to the channel of the answer")


def test_a_second_answer_is_trouble():
    source = (
        "from transformer_edu.judge import inside\ninside._exit = lambda status: None\nspeak = inside._channel[0][1]\n"
    )
    outcome = act(source + "speak(b'one'); speak(b'two'); import os; os._exit(0)")
    assert (outcome.answer, outcome.trouble) == (None, "answered twice, or not whole")


def test_a_channel_that_was_closed_is_told():
    outcome = act("import os\nos.closerange(3, 128)")
    assert outcome.trouble == "failed with OSError: [Errno 9] Bad file descriptor"


def test_it_sees_no_secret_and_no_input(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "secret")
    source = "import os, sys\nfound = [os.environ.get('MY_TOKEN'), sys.stdin.read(), os.environ['OMP_NUM_THREADS']]"
    assert found(source) == [None, "", "1"]


def test_a_payload_that_nobody_reads_does_not_block():
    outcome = sandbox.run("this", bytes(10 << 20))  # it prints a poem
    assert outcome.trouble == "ended the process itself (exit status 0)"


def test_an_interrupt_of_the_parent_ends_the_child(monkeypatch):
    def interrupted(path, limit):
        raise KeyboardInterrupt

    monkeypatch.setattr(sandbox.scratch, "holds_more", interrupted)  # it is asked while the parent waits
    with pytest.raises(KeyboardInterrupt):
        act("while True: pass")


@only_linux
def test_a_child_ends_with_its_parent(tmp_path):
    source = (
        f"import sys; sys.path[:0] = {[os.fspath(CHILDREN), *sys.path]}\n"
        "import bare\n"
        "from transformer_edu.judge import sandbox\n"
        "sandbox.run('act', b'# locked\\nwhile True: pass\\n')"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path / "apart")}
    (tmp_path / "apart").mkdir()
    with subprocess.Popen([sys.executable, "-c", source], env=environment) as parent:
        started = lambda: [c for c in psutil.Process(parent.pid).children() if c.cpu_times().user > 0.3]  # noqa: E731
        assert eventually(started)
        child = psutil.Process(parent.pid).children()[0]
        parent.kill()
    try:
        assert eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    finally:
        if child.is_running():
            child.kill()


def eventually(condition):
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()

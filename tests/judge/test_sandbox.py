"""Foreign code runs apart: whatever it does, one sentence says so, nothing outside is changed, nothing is left."""

import ctypes
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

from transformer_edu.book.sandbox import sandbox, scratch
from transformer_edu.book.sandbox.sandbox import Limits

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


OLD_LANDLOCK = (  # as on Linux 6.7 to 6.11, whose Landlock knows nothing of signals
    "from transformer_edu.book.sandbox import kernel\n"
    "real = kernel.call\n"
    "kernel.call = lambda n, *given: min(5, real(n, *given)) if given == (None, 0, 1) else real(n, *given)\n"
)
KILLS_BY_DESCRIPTOR = """
import fcntl, os
read, write = os.pipe()
tried = []
def call(*arguments):
    try: fcntl.fcntl(read, *arguments)
    except OSError as error: tried.append(type(error).__name__)
    else: tried.append("done")
call(fcntl.F_SETOWN, {other})
call(15, (0).to_bytes(4, "little") + ({other}).to_bytes(4, "little"))  # F_SETOWN_EX: a thread
call(fcntl.F_SETSIG, 9)
call(fcntl.F_SETFL, fcntl.fcntl(read, fcntl.F_GETFL) | fcntl.FASYNC)
os.write(write, b"now")
for request in (0x8901, 0x8902, 0x5452, 0x40086602, 0x6685):  # FIOSETOWN, SIOCSPGRP, FIOASYNC, flags, verity
    try: fcntl.ioctl(read, request, ({other}).to_bytes(4, "little"))
    except OSError as error: tried.append(type(error).__name__)
    else: tried.append("done")
fcntl.fcntl(read, fcntl.F_SETFL, fcntl.fcntl(read, fcntl.F_GETFL) | os.O_NONBLOCK)
os.set_inheritable(read, True); os.set_blocking(write, False); open(0, closefd=False).isatty()
os.close(fcntl.fcntl(read, fcntl.F_DUPFD_CLOEXEC, 0))
found = tried
"""


@pytest.fixture
def other():
    """A process of the same user."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        if process.poll() is None:
            process.stdin.close()


@only_linux
@pytest.mark.parametrize("before", ["", OLD_LANDLOCK], ids=["this Landlock", "an old Landlock"])
def test_no_descriptor_sends_signals_to_others(other, before):
    assert found(KILLS_BY_DESCRIPTOR.format(other=other.pid), before) == ["PermissionError"] * 9
    assert other.poll() is None


SLOWS_OTHERS = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
setattr_, ioprio = {{"x86_64": (314, 251), "aarch64": (274, 30)}}[os.uname().machine]
idle, core = os.sched_param(0), max(os.sched_getaffinity(0))
class Attributes(ctypes.Structure): _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32),
    ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32), ("rest", ctypes.c_uint8 * 28)]
def raw(*arguments):
    if libc.syscall(*arguments): raise OSError(ctypes.get_errno(), "")
attempts = dict(
    nice=lambda: os.setpriority(os.PRIO_PROCESS, {other}, 15),
    nice_all=lambda: os.setpriority(os.PRIO_USER, os.getuid(), 0),
    nice_group=lambda: os.setpriority(os.PRIO_PGRP, {other}, 15),
    idle=lambda: os.sched_setscheduler({other}, os.SCHED_IDLE, idle),
    parameters=lambda: os.sched_setparam({other}, idle),
    attributes=lambda: raw(setattr_, {other}, ctypes.byref(Attributes(48, 5, 0, 0)), 0),
    affinity=lambda: os.sched_setaffinity({other}, {{core}}),
    ioprio=lambda: raw(ioprio, 1, {other}, 3 << 13),
)
found = {{}}
for name, attempt in attempts.items():
    try: attempt()
    except OSError as error: found[name] = type(error).__name__
    else: found[name] = "done"
os.nice(1); os.sched_setaffinity(0, {{core}}); os.sched_setaffinity(os.getpid(), {{core}})
"""


@only_linux
def test_other_processes_are_not_slowed_down(other):
    tried = found(SLOWS_OTHERS.format(other=other.pid))
    assert set(tried.values()) == {"PermissionError"}, tried
    state = psutil.Process(other.pid)
    assert (state.nice(), os.sched_getscheduler(other.pid)) == (psutil.Process().nice(), os.SCHED_OTHER)
    assert state.cpu_affinity() == psutil.Process().cpu_affinity()


@only_linux
def test_a_users_files_are_not_locked(tmp_path):
    mine = tmp_path / "mine"
    mine.touch()
    source = (
        "import fcntl, struct, time\n"
        f"file = open({str(mine)!r})\nfound = []\n"
        "read = struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0)\n"
        "for lock in (lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.fcntl(file, 6, read),\n"
        "             lambda: fcntl.fcntl(file, 37, read), lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK)):\n"
        "    try: lock()\n"
        "    except OSError as error: found.append(type(error).__name__)\n"
        "    else: found.append('done')\n"
    )
    assert found(source) == ["PermissionError"] * 4


@only_linux
def test_services_and_objects_that_others_share_are_not_reached(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
        service.bind(os.fspath(tmp_path / "service"))
        service.setblocking(False)
        one = "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]"
        where = repr(os.fspath(tmp_path / "service"))
        tried = f"import socket\none = {one}\n"
        assert found(tried + attempt(f"one.sendto(b'to the log', {where})")) == "PermissionError"
        assert found(tried + attempt(f"one.sendmsg([b'to the log'], [], 0, {where})")) == "PermissionError"
        with pytest.raises(BlockingIOError):
            service.recv(100)
    assert found("import asyncio\nfound = asyncio.run(asyncio.sleep(0, 'its own loop works'))") == "its own loop works"


@only_linux
def test_shared_memory_of_others_is_not_reached():
    libc, key = ctypes.CDLL(None, use_errno=True), 0
    segment = libc.shmget(key, 4096, 0o1600)
    if segment < 0:
        pytest.skip("this system has no shared memory of System V")
    source = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmat.restype = ctypes.c_ssize_t\n"
        f"found = [libc.shmat({segment}, None, 0) == -1, libc.shmctl({segment}, 0, None)]\n"
    )
    try:
        assert found(source) == [True, -1]
    finally:
        libc.shmctl(segment, 0, None)


HOLDS = {
    "mapped": "assert libc.mmap(None, 4096, 3, 1, file.fileno(), ctypes.c_long(0)) != -1; file.close()",
    "open": "maps.append(file)",
    "sent": (
        "one, other = socket.socketpair(); socket.send_fds(one, [b'x'], [file.fileno()]); file.close();"
        " maps.append((one, other))"
    ),
    "in a thread's own table": (
        "done = queue.Queue()\n"
        "    own = lambda: (done.put(libc.syscall(436, 1 << 20, 1 << 20, 2)), time.sleep(600))  # close_range\n"
        "    threading.Thread(target=own, daemon=True).start()\n"
        "    assert not done.get(), 'PermissionError'\n    file.close()"
    ),
    "in a table that a thread was made with": (
        "maps.append(ctypes.create_string_buffer(1 << 16)); top = ctypes.addressof(maps[-1]) + (1 << 15) & -16\n"
        "    thread = libc.clone(libc.pause, ctypes.c_void_p(top), 0x10900, None)  # CLONE_THREAD, no CLONE_FILES\n"
        "    assert thread > 0, 'PermissionError'\n    file.close()"
    ),
}


@only_linux
@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_deleted_files_that_are_held_count(hold):
    source = (
        "import ctypes, os, queue, socket, threading, time\nmaps, libc = [], ctypes.CDLL(None)\n"
        "for n in range(60):\n"
        "    file = open('one', 'w+b', buffering=0); file.write(bytes(1 << 20)); os.unlink('one')\n"
        f"    {hold}\n"
        "time.sleep(600)"
    )
    trouble = act(source, file=1 << 20).trouble
    assert trouble == "wrote more than 4 MB of files" or "PermissionError" in trouble


@only_linux
def test_thousands_of_threads_are_too_many():
    source = (
        "import threading\nthreading.stack_size(1 << 15)\nhold = threading.Lock(); hold.acquire()\n"
        "for n in range(10**9): threading.Thread(target=hold.acquire, daemon=True).start()"
    )
    assert act(source).trouble == "started more than 512 threads"


def without_landlock():
    return bool([sentence for sentence in found("found = unprotected") if "Files outside" in sentence])


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
    assert act(source).trouble in (None, "wrote more than 64 MB of files")  # as it was looked at meanwhile or not


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
    source = "from transformer_edu.book.sandbox import inside\ninside._exit = lambda status: None\n"
    source += "speak = inside._channel[0][1]\n"
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

    monkeypatch.setattr(scratch, "holds_more", interrupted)  # it is asked while the parent waits
    with pytest.raises(KeyboardInterrupt):
        act("while True: pass")


@only_linux
def test_a_child_ends_with_its_parent(tmp_path):
    source = (
        f"import sys; sys.path[:0] = {[os.fspath(CHILDREN), *sys.path]}\n"
        "import bare\n"
        "from transformer_edu.book.sandbox import sandbox\n"
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


def test_an_empty_folder_is_too_much_where_more_than_the_limit_is_held_elsewhere(tmp_path):
    assert scratch.holds_more(tmp_path, -1)
    assert not scratch.holds_more(tmp_path, 0)


def talk(locked, **limits):
    """A conversation with a child that runs `locked` once it is locked down."""
    limits = {"seconds": 20.0, **limits}
    return sandbox.conversation("act", f"\n# locked\n{locked}\n".encode(), Limits(**limits))


def test_questions_are_answered_one_after_another_and_prints_do_not_disturb():
    with talk("print('hello')\nsandbox.converse(lambda question: question[::-1])") as child:
        assert [child.ask(question) for question in (b"abc", b"", bytes(range(256)) * 9)] == [
            b"cba",
            b"",
            bytes(reversed(bytes(range(256)) * 9)),
        ]
    assert child.printed == "hello\n"


@pytest.mark.parametrize(
    ("reply", "trouble"),
    [
        ("while True: pass", "stopped after 1 s: an endless loop?"),
        ("import os; os._exit(0)", "ended the process itself (exit status 0)"),
        ("import os; os._exit(7)", "ended the process itself (exit status 7)"),
        ("raise KeyError('no')", "failed with KeyError: 'no'"),
        ("return bytes(1 << 22)", "gave an answer of more than 1 MB"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal SIGKILL"),
    ],
)
def test_a_child_that_stops_answering_is_told_in_one_sentence_and_asked_no_more(reply, trouble):
    code = f"def reply(question):\n    if question == b'go on': return b'yes'\n    {reply}\nsandbox.converse(reply)"
    with talk(code, seconds=1.0 if "while" in reply else 20.0, output=1 << 20) as child:
        assert child.ask(b"go on") == b"yes"
        with pytest.raises(sandbox.Ended) as ended:
            child.ask(b"stop")
        assert ended.value.trouble == trouble
        with pytest.raises(sandbox.Ended):
            child.ask(b"go on")

"""What is asked of the kernel, and what the two ends of a sandbox say: looked at without a second process."""

import ctypes
import errno
import io
import os
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_edu.book.sandbox import inside, kernel, landlock, limits, sandbox, scratch, seccomp, wire
from transformer_edu.book.sandbox.limits import Limits

ALLOW = seccomp.ALLOW
EPERM = seccomp.ERROR | errno.EPERM
ENOSYS = seccomp.ERROR | errno.ENOSYS
PROCESS = 4321


def verdict(machine, number, arguments=(), architecture=None):
    """What the filter says to a call, as the kernel's interpreter would run it."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, architecture or seccomp.ARCHITECTURES[machine], 0, *values)
    steps, at, accumulator = seccomp.program(machine, PROCESS), 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == seccomp.RETURN:
            return operand
        if code == seccomp.LOAD:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        else:
            true = {
                seccomp.EQUAL: accumulator == operand,
                seccomp.AT_LEAST: accumulator >= operand,
                seccomp.ANY_BIT: bool(accumulator & operand),
            }[code]
            at += if_true if true else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_says_what_each_call_may(machine):
    column = machine == "aarch64"
    for numbers in seccomp.REFUSED.values():
        assert numbers[column] is None or verdict(machine, numbers[column]) == EPERM
    for numbers in seccomp.SIGNALS.values():
        assert verdict(machine, numbers[column], [PROCESS, 9]) == ALLOW
        assert verdict(machine, numbers[column], [PROCESS + 1, 9]) == EPERM
        assert verdict(machine, numbers[column], [0, 9]) == EPERM
    assert verdict(machine, 435) == verdict(machine, 425) == ENOSYS


NONE, HIGH, LOW = 0, 1 << 32, 8  # addresses
FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TCSETS, FS_IOC_SETFLAGS = 0x5452, 0x8901, 0x8902, 0x5412, 0x5402, 0x40086602
LISTED = {  # arguments of the calls that the filter looks into
    "CLONE": {ALLOW: [(0x3D0F00,)], EPERM: [(17,), (0x3D0F00 & ~seccomp.CLONE_FILES,), (0x3C0F00,)]},  # a thread's own
    "CLOSE_RANGE": {ALLOW: [(3, 9, 0), (3, 9, 4)], EPERM: [(3, 9, 2), (3, 9, 6)]},
    "PRLIMIT": {ALLOW: [(0, 9, NONE, 1)], EPERM: [(0, 9, HIGH, 1), (0, 9, LOW, 1)]},
    "SENDTO": {ALLOW: [(3, 1, 2, 0, NONE, 0)], EPERM: [(3, 1, 2, 0, HIGH, 9), (3, 1, 2, 0, LOW, 9)]},
    "PRCTL": {ALLOW: [(15,)], EPERM: [(kernel.PR_SET_PDEATHSIG,), (kernel.PR_SET_DUMPABLE,), (kernel.PR_SCHED_CORE,)]},
    "IOCTL": {
        ALLOW: [(3, request) for request in seccomp.ASKED],
        EPERM: [(3, request) for request in (FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TCSETS, FS_IOC_SETFLAGS)],
    },
    "FCNTL": {  # copies and flags; no owner, signal, lock (6, 7, 37, 38) or lease
        ALLOW: [(3, command, 0xFFFF) for command in (0, 1, 2, 3, 1030)] + [(3, 4, 0xDFFF)],
        EPERM: [(3, command) for command in (6, 7, 8, 10, 15, 37, 38, 1024, 1031)] + [(3, 4, 0x2000)],
    },
    "AFFINITY": {ALLOW: [(0,), (PROCESS,)], EPERM: [(PROCESS + 1,), (1,)]},
    "PRIORITY": {ALLOW: [(0, 0, 5), (0, PROCESS, 5)], EPERM: [(0, PROCESS + 1, 5), (1, 0, 5), (2, 0, 5), (2, PROCESS)]},
}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("call", LISTED)
def test_the_filter_looks_into_the_arguments(machine, call):
    for wanted, calls in LISTED[call].items():
        for arguments in calls:
            number = getattr(seccomp, call)[machine == "aarch64"]
            assert verdict(machine, number, arguments) == wanted, arguments
            assert verdict(machine, number, [argument | 7 << 40 for argument in arguments]) in (wanted, EPERM)


@pytest.mark.parametrize(("machine", "usual"), [("x86_64", [0, 1, 9, 202, 257]), ("aarch64", [63, 64, 222, 98, 56])])
def test_read_write_mmap_futex_and_openat_are_allowed(machine, usual):
    assert {verdict(machine, number) for number in usual} == {ALLOW}


def test_calls_by_other_numbers_are_refused():
    assert verdict("x86_64", 2, architecture=0x40000003) == seccomp.KILL  # the 32-bit calls
    assert verdict("x86_64", 0x40000000 | 57) == ENOSYS


def test_no_call_is_listed_twice():
    for column in (0, 1):
        groups = [*seccomp.REFUSED.values(), *seccomp.MISSING.values(), *seccomp.SIGNALS.values()]
        groups += [getattr(seccomp, name) for name in LISTED]
        numbers = [group[column] for group in groups if group[column] is not None]
        assert len(numbers) == len(set(numbers))


@pytest.mark.skipif(not Path("/usr/include/asm-generic/unistd.h").exists(), reason="the kernel's headers are not here")
@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_kernels_headers(column, header):
    if not Path(header).exists():
        pytest.skip("the headers of another machine")
    defined = dict(
        line.split()[1:3] for line in Path(header).read_text().splitlines() if line.startswith("#define __NR")
    )
    listed = seccomp.REFUSED | seccomp.MISSING | seccomp.SIGNALS
    listed |= {
        "clone": seccomp.CLONE,
        "close_range": seccomp.CLOSE_RANGE,
        "prctl": seccomp.PRCTL,
        "prlimit64": seccomp.PRLIMIT,
        "ioctl": seccomp.IOCTL,
    }
    listed |= {"fcntl": seccomp.FCNTL, "sendto": seccomp.SENDTO, "setpriority": seccomp.PRIORITY}
    listed |= {"sched_setaffinity": seccomp.AFFINITY}
    known = {name: numbers[column] for name, numbers in listed.items() if f"__NR_{name}" in defined}
    assert len(known) > 60
    alias = {name: defined.get(number, number) for name, number in defined.items()}  # some stand for another name
    assert known == {name: int(alias[f"__NR_{name}"]) for name in known}


class Kernel:
    """Stands in for `kernel.call` and writes down what it was asked."""

    def __init__(self, version):
        self.version, self.asked = version, []

    def __call__(self, number, *arguments):
        self.asked.append((number, [a if isinstance(a, int) or a is None else a.raw for a in arguments]))
        if self.version == 0:
            raise OSError(errno.ENOSYS, "no such call")
        return self.version if arguments[0] is None else os.open(os.devnull, os.O_RDONLY) if number == 444 else 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("version", "size", "rights"),
    [(1, 8, 0x1FF2), (2, 8, 0x3FF2), (3, 8, 0x7FF2), (4, 16, 0x7FF2), (5, 16, 0xFFF2), (7, 24, 0xFFF2)],
)
def test_landlock_is_asked_for_what_its_version_knows(monkeypatch, tmp_path, version, size, rights):
    fake = Kernel(version)
    monkeypatch.setattr(kernel, "call", fake)
    unsaid = [sentence for sentence in landlock.restrict(tmp_path) if "Threads" not in sentence]
    assert ("emptied" in "".join(unsaid)) == (version < 3)
    (_, (handled, given, _)), *rules = fake.asked[1:]
    assert (struct.unpack("=QQQ", handled)[0], given) == (rights, size)
    below = struct.unpack("=Qi", rules[0][1][2])[0]
    assert below & ~rights == 0  # the kernel refuses rules about rights that are not handled
    assert below & landlock.DEVICES == 0
    assert [number for number, _ in rules] == [445, 445, 446]


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(kernel, "call", Kernel(0))
    assert landlock.restrict(tmp_path) == ["Files outside its own folder can be written: this kernel has no Landlock."]
    assert "Every file that you can read can be read" in landlock.restrict(tmp_path, [tmp_path])[1]
    assert "this system has no seccomp filter" in seccomp.restrict()[0]
    monkeypatch.setattr(kernel, "ON_LINUX", False)
    assert "this system has no seccomp filter" in seccomp.restrict()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_every_limit_is_set_and_a_lower_one_stays(monkeypatch):
    asked = {}
    there = {limits.resource.RLIMIT_NOFILE: (50, 50)}
    monkeypatch.setattr(limits.resource, "getrlimit", lambda kind: there.get(kind, (-1, limits.resource.RLIM_INFINITY)))
    monkeypatch.setattr(limits.resource, "setrlimit", asked.__setitem__)
    monkeypatch.setattr(limits, "_address_space", lambda: 1000)
    assert limits.hold(Limits(memory=500, file=70)) == []
    assert asked[limits.resource.RLIMIT_AS] == (1500, 1500)
    assert asked[limits.resource.RLIMIT_FSIZE] == (70, 70)
    assert asked[limits.resource.RLIMIT_CORE] == (0, 0)
    assert asked[limits.resource.RLIMIT_NOFILE] == (50, 50)
    monkeypatch.setattr(limits, "_address_space", lambda: None)
    assert "Memory and threads are not limited" in limits.hold(Limits())[0]
    assert asked[limits.resource.RLIMIT_NPROC] == (1, 1)


@pytest.fixture
def child_side(monkeypatch):
    """`inside` in this process: what it locks is not locked, what it writes is kept, and it does not end."""
    written = []

    def ends(status):
        raise SystemExit(status)

    monkeypatch.setattr(inside, "_write", lambda descriptor, data: written.append(bytes(data[:7])) or len(written[-1]))
    monkeypatch.setattr(inside, "_exit", ends)
    monkeypatch.setattr(inside.limits, "hold", lambda limits: [f"{limits.seconds} s"])
    monkeypatch.setattr(inside.landlock, "restrict", lambda folder, readable: ["L"])
    monkeypatch.setattr(inside.seccomp, "restrict", lambda: ["S"])
    monkeypatch.setattr(kernel, "prctl", lambda option, value: None)
    monkeypatch.setattr(kernel, "drop_privileges", lambda: None)
    monkeypatch.setattr(kernel, "ON_LINUX", True)
    monkeypatch.setattr(inside.os, "dup", lambda descriptor: 99)
    monkeypatch.setattr(inside.os, "dup2", lambda source, other: None)
    return written


def given_to(monkeypatch, tmp_path, order):
    """Let `inside` read `order` where it would read stdin."""
    (tmp_path / "stdin").write_bytes(order)
    monkeypatch.setattr(inside.os, "fdopen", lambda *given: (tmp_path / "stdin").open("rb"))


def test_the_child_reads_locks_and_answers_once(monkeypatch, tmp_path, child_side):
    order = wire.Order("the-token", Limits(seconds=3.5), os.getppid(), b"the\npayload")
    given_to(monkeypatch, tmp_path, wire.pack_order(order))
    assert sandbox.receive() == b"the\npayload"
    assert sandbox.lock_down() == ["3.5 s", "L", "S"]
    with pytest.raises(SystemExit, match="0"):
        sandbox.answer(b"seven bytes at a time")
    assert wire.unframe("the-token", b"greeting" + b"".join(child_side)) == (b"seven bytes at a time", b"")
    with pytest.raises(RuntimeError, match="handed over before"):
        sandbox.answer(b"again")


def test_a_child_whose_parent_is_gone_ends(monkeypatch, tmp_path, child_side):
    given_to(monkeypatch, tmp_path, wire.pack_order(wire.Order("t", Limits(), os.getppid() + 1, b"")))
    with pytest.raises(SystemExit, match="1"):
        sandbox.receive()


def test_memory_that_ran_out_is_known_by_python_and_by_torch():
    assert sandbox.out_of_memory(MemoryError())
    assert sandbox.out_of_memory(RuntimeError("[..] DefaultCPUAllocator: can't allocate memory: you tried to"))
    assert not sandbox.out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@given(st.binary(), st.floats(0.1, 1e4), st.integers(1, 1 << 40))
def test_an_order_comes_as_it_was_given(payload, seconds, memory):
    order = wire.Order("token", Limits(seconds, memory), 7, payload)
    assert wire.read_order(io.BytesIO(wire.pack_order(order))) == order


def test_an_order_that_is_cut_off_is_no_order():
    whole = wire.pack_order(wire.Order("token", Limits(), 7, b"payload"))
    for end in range(len(whole)):
        with pytest.raises(EOFError):
            wire.read_order(io.BytesIO(whole[:end]))


@given(st.binary(), st.binary(max_size=40))
def test_only_one_whole_answer_counts(answer, before):
    token = "0123456789abcdef"
    said = before + wire.ready(token) + wire.frame(token, answer)
    assert wire.unframe(token, said) == (answer, b"")
    assert wire.unframe(token, said + b"more") == (answer, b"more")
    assert wire.unframe(token, before) is None
    for wrong in (said[:-1], before + wire.ready(token) + b"x"):
        with pytest.raises(ValueError, match=r"wrote something|answered twice"):
            wire.unframe(token, wrong)


def test_a_folder_is_deleted_whatever_is_in_it(tmp_path):
    with scratch.folder() as folder:
        (folder / "a" / "b" / "c").mkdir(parents=True)
        (folder / "a" / "b" / "file").touch()
        (folder / "a" / "link").symlink_to(tmp_path, target_is_directory=True)
        (folder / "a" / "b").chmod(0)
        folder.chmod(0)
        (tmp_path / "stays").touch()
    assert not folder.exists()
    assert (tmp_path / "stays").exists()


def test_names_and_bytes_in_a_folder_are_counted(tmp_path):
    (tmp_path / "a").mkdir()
    assert not scratch.holds_more(tmp_path, 3 * scratch.ENTRY)
    (tmp_path / "a" / "large").write_bytes(bytes(5 * scratch.ENTRY))
    assert scratch.holds_more(tmp_path, 5 * scratch.ENTRY)
    assert not scratch.holds_more(tmp_path / "none", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_deleted_files_count_as_they_are_and_mapped_ones_as_the_largest(tmp_path):
    def held():
        return scratch.held(os.getpid(), tmp_path, 1 << 20)

    with (tmp_path / "one").open("w+b") as file:
        file.write(bytes(2 * scratch.ENTRY))
        file.flush()
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        kept = libc.mmap(None, 1, 1, 1, file.fileno(), ctypes.c_long(0))  # Python's own keeps the file open
        assert held() == 0
        (tmp_path / "one").unlink()
        assert held() == 2 * scratch.ENTRY
    assert held() == 1 << 20
    libc.munmap(ctypes.c_void_p(kept), 1)
    assert held() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no such rights")
def test_what_cannot_be_counted_is_too_much(tmp_path, monkeypatch):
    with scratch.folder() as folder:
        monkeypatch.chdir(folder)
        for _ in range(30):  # names that are longer together than a path may be
            os.mkdir("n" * 200)
            os.chdir("n" * 200)
        Path("unseen").write_bytes(bytes(1 << 20))
        assert scratch.holds_more(folder, 1 << 20)
        monkeypatch.chdir(tmp_path)
    (tmp_path / "written and not read").mkdir(0o300)
    (tmp_path / "written and not read" / "unseen").write_bytes(bytes(1 << 20))
    assert scratch.holds_more(tmp_path, 1 << 20)  # root sees it, others do not


@pytest.mark.parametrize(
    ("status", "printed", "trouble"),
    [
        (0, "", "ended the process itself (exit status 0)"),
        (-11, "", "killed by signal SIGSEGV"),
        (-40, "", "killed by signal 40"),
        (-6, "terminate called after throwing an instance of 'std::bad_alloc'\n", "asked for more memory than 1.5 KB"),
        (1, "Traceback (most recent call last)\nMemoryError\n", "asked for more memory than 1.5 KB"),
        (1, "Traceback (most recent call last)\n  …\nKeyError: 'a'\n\n", "failed with KeyError: 'a'"),
        (1, "no traceback", "ended the process itself (exit status 1)"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_an_end_is_told_by_status_and_last_words(status, printed, trouble):
    assert sandbox._told(status, False, printed, Limits(memory=1536)) == trouble


@pytest.mark.skipif(sys.platform != "linux", reason="calls of the Linux kernel")
def test_calls_reach_the_kernel_and_its_errors_come_back():
    getpid = {"x86_64": 39, "aarch64": 172}[os.uname().machine]
    assert kernel.call(getpid) == os.getpid()
    with pytest.raises(OSError, match="not implemented"):
        kernel.call(100_000)
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 1000)
    assert limits._address_space() > 1 << 20

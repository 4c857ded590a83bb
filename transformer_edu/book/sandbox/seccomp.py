"""No further process, no network, nothing done to other processes: a filter of system calls (x86_64 and aarch64).

Numbers are those of the kernel's asm/unistd_64.h and asm-generic/unistd.h. What is not refused is allowed, for torch,
Python and the C library are free to use a call tomorrow that they do not use today.
See https://docs.kernel.org/userspace-api/seccomp_filter.html.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from transformer_edu.book.sandbox import kernel

# name: number on x86_64, on aarch64 (None: there is none)
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # another process, another program
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    # the network, and services of this machine
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "sendmsg": (46, 211),  # may name a service as `sendto` may, and holds files that no limit counts
    "sendmmsg": (307, 269),
    # other processes of the same user
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "ioprio_set": (251, 30),
    "flock": (73, 32),  # a file that may be read may be locked, and whoever needs it waits
    # memory that outlives the process or that its limit does not count, and what others have of the kind
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # its own limits
    "setrlimit": (160, 164),
    # permissions, owners, times and attributes of files, which Landlock does not guard
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # what root could do to the whole machine, where somebody runs this as root
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "iopl": (172, None),
    "ioperm": (173, None),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
# Refused as if the kernel did not have it: callers then use a call that the filter can look into.
MISSING = {"clone3": (435, 435), "io_uring_setup": (425, 425)}
# Allowed for this process's own threads only.
SIGNALS = {"kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)}
AFFINITY, PRIORITY, CLOSE_RANGE = (203, 122), (141, 140), (436, 436)
# Allowed for what is named below only.
CLONE, PRCTL, PRLIMIT, IOCTL, FCNTL, SENDTO = (56, 220), (157, 167), (302, 261), (16, 29), (72, 25), (44, 206)
SECCOMP = (317, 277)
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

CLONE_THREAD, CLONE_FILES, CLOSE_RANGE_UNSHARE = 0x10000, 0x400, 2  # a thread with open files of its own hides them
O_ASYNC, F_SETFL, PRIO_PROCESS = 0x2000, 4, 0
# Of a descriptor: whether it is a terminal and how wide, how much waits in it, whether it blocks and is inherited. Not
# whom it sends signals to, locks and leases, a terminal's settings and input, attributes and encryption of files.
ASKED = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # ioctl: TCGETS, TCGETS2, TIOCGWINSZ, FIO…
COPIED = (0, 1, 2, 3, 1030)  # fcntl: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
# Of itself: to outlive its parent, to hide what it holds from it, to share cores with others.
PRCTL_REFUSED = (kernel.PR_SET_PDEATHSIG, kernel.PR_SET_DUMPABLE, kernel.PR_SCHED_CORE)
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000
NUMBER, ARCHITECTURE = 0, 4  # where the filter finds them in `struct seccomp_data`

Instruction = tuple[int, int, int, int]  # code, how many to skip if true, if false, operand

ALLOWED: Instruction = (RETURN, 0, 0, ALLOW)
REFUSAL: Instruction = (RETURN, 0, 0, ERROR | errno.EPERM)


def restrict() -> list[str]:
    """Filter the calls of all threads of this process for good; returns what could not be protected."""
    machine = os.uname().machine if kernel.ON_LINUX else "none"
    if machine in ARCHITECTURES:
        try:
            _install(program(machine, os.getpid()), SECCOMP[machine == "aarch64"])
        except OSError:
            pass
        else:
            return []
    return ["It can start processes, use the network, end and slow other processes: this system has no seccomp filter."]


def program(machine: str, process: int) -> list[Instruction]:
    """The filter, in the kernel's instructions, for the process of number `process`."""
    column = machine == "aarch64"
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, 0x40000000),  # x32, a second set of numbers for the same calls
        (RETURN, 0, 0, ERROR | errno.ENOSYS),
    ]
    bodies = [(numbers, [REFUSAL]) for numbers in REFUSED.values()]
    bodies += [(numbers, [(RETURN, 0, 0, ERROR | errno.ENOSYS)]) for numbers in MISSING.values()]
    bodies += [(numbers, _one_of(0, [process], ALLOWED, REFUSAL)) for numbers in SIGNALS.values()]
    itself = [0, process]
    bodies += [
        (CLONE, [_argument(0), (ANY_BIT, 1, 0, CLONE_THREAD), REFUSAL, (ANY_BIT, 0, 1, CLONE_FILES), ALLOWED, REFUSAL]),
        (CLOSE_RANGE, _without(2, CLOSE_RANGE_UNSHARE)),
        (PRCTL, _one_of(0, PRCTL_REFUSED, REFUSAL, ALLOWED)),
        (IOCTL, _one_of(1, ASKED, ALLOWED, REFUSAL)),
        (FCNTL, [_argument(1), (EQUAL, 0, 4, F_SETFL), *_without(2, O_ASYNC), *_one_of(1, COPIED, ALLOWED, REFUSAL)]),
        (AFFINITY, _one_of(0, itself, ALLOWED, REFUSAL)),
        (PRIORITY, [_argument(0), (EQUAL, 1, 0, PRIO_PROCESS), REFUSAL, *_one_of(1, itself, ALLOWED, REFUSAL)]),
        (SENDTO, _null(4)),  # to the other end, not to an address
        (PRLIMIT, _null(2)),  # a limit may be read, not set
    ]
    for numbers, body in bodies:
        number = numbers[column]
        if number is not None:
            steps += [(EQUAL, 0, len(body), number), *body]
    return [*steps, ALLOWED]


def _argument(index: int, half: int = 0) -> Instruction:
    """Load the low (or with `half` = 4 the high) 32 bits of an argument of the call."""
    return (LOAD, 0, 0, 16 + 8 * index + half)


def _one_of(index: int, values: Sequence[int], then: Instruction, otherwise: Instruction) -> list[Instruction]:
    """`then` where an argument of 32 bits is one of `values`."""
    compared = [(EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_argument(index), *compared, otherwise, then]


def _without(index: int, bit: int) -> list[Instruction]:
    """Allowed where an argument does not have this bit."""
    return [_argument(index), (ANY_BIT, 0, 1, bit), REFUSAL, ALLOWED]


def _null(index: int) -> list[Instruction]:
    """Allowed where an address is none: both halves of it are 0."""
    return [_argument(index), (EQUAL, 0, 3, 0), _argument(index, 4), (EQUAL, 0, 1, 0), ALLOWED, REFUSAL]


def _install(steps: list[Instruction], seccomp: int) -> None:
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(steps), ctypes.addressof(instructions))
    set_filter, all_threads = 1, 1
    kernel.call(seccomp, set_filter, all_threads, ctypes.create_string_buffer(header, len(header)))

"""Many `transformer-edu check` commands in one go: each does all that it does, but from a process that has imported.

`check_all` starts one Python. It imports what a command and its worker import, then forks a process for each command,
which forks its worker where the command would start one: with pipes, a locked door, a judge outside, and a torch that
nobody has used. Only the seconds of importing are shared.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check_all(commands):
    """What `transformer-edu check --json` says to each of these lists of arguments: a list of dictionaries."""
    order = json.dumps([list(map(str, command)) for command in commands])
    usual = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, __file__], input=order, capture_output=True, text=True, cwd=ROOT, env=usual, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Forked:
    """In the place of subprocess.Popen: this process once more, in which the worker runs."""

    def __init__(self, command, cwd, env, **usual):
        ends = [os.pipe() for _ in range(3)]
        self.returncode, self.pid = None, os.fork()
        if self.pid == 0:
            work(cwd, env, [ends[0][0], ends[1][1], ends[2][1]])
        for used in (ends[0][0], ends[1][1], ends[2][1]):
            os.close(used)
        self.stdin = os.fdopen(ends[0][1], "wb")
        self.stdout, self.stderr = (os.fdopen(end[0], "rb") for end in ends[1:])

    def wait(self, timeout=600):
        """As Popen's."""
        until = time.monotonic() + timeout
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > until:
                raise subprocess.TimeoutExpired("worker", timeout)
            else:
                time.sleep(0.005)
        return self.returncode

    def kill(self):
        """As Popen's."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def work(folder, environment, descriptors):
    """The worker's process: what Python does before it calls `main`."""
    from transformer_edu.book.exercises.judge import worker

    os.setsid()
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
    os.closerange(3, 64)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        worker.main()
    except BaseException:  # Python's own last words, and its status
        os.write(2, traceback.format_exc().encode())
    os._exit(1)


def answer(arguments):
    """What one command prints, as JSON; it runs in a process of its own."""
    from transformer_edu.book.commands.main import main
    from transformer_edu.book.sandbox import sandbox

    read, write = os.pipe()
    if os.fork() == 0:
        sys.stdin, sys.stdout, sys.stderr = None, os.fdopen(write, "w"), os.fdopen(os.dup(2), "w")
        sandbox.subprocess.Popen = Forked
        try:
            main(["check", *arguments, "--json"])
        except SystemExit:
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        told = stream.read()
    os.wait()
    return json.loads(told) if told else {"status": None}


if __name__ == "__main__":
    import transformer_edu.book.commands.check
    import transformer_edu.book.exercises.judge.worker  # noqa: F401 (what is imported here is imported once)

    print(json.dumps([answer(arguments) for arguments in json.load(sys.stdin)]))

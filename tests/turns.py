"""Which tests a run takes that has no time for all: each commit takes its turn, and some commits together take all."""

import subprocess
from itertools import groupby
from zlib import crc32

LONG = ("long", "slow", "browser", "book")
SHORT_TABLE = 3  # cases


def turn_of_this_commit(root):
    """The number of commits: each takes the next turn, so that as many commits as turns try all there is.

    A shallow clone does not know it: there the commit's name decides, as a lot does. Where there is no commit, it is 0.
    """

    def git(*command):
        return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False).stdout.strip()

    if git("rev-parse", "--is-shallow-repository") == "true":
        return int(git("rev-parse", "HEAD"), 16)
    return int(git("rev-list", "--count", "HEAD") or 0)


def whose_turn(items, turns, turn, whole=()):
    """What runs when it is `turn`'s turn: chapters, the folders `whole` and what is short; of all else one in `turns`.

    A table is a test with its cases. Each table begins elsewhere, so that a turn does not take the first case of all.
    """
    chosen = []
    for name, same in groupby(items, lambda item: item.nodeid.partition("[")[0]):
        cases, begin = list(same), crc32(name.encode()) + turn
        short = len(cases) <= SHORT_TABLE and not any(case.get_closest_marker(mark) for case in cases for mark in LONG)
        if short or cases[0].path.parent.name in whole or cases[0].path.suffix == ".ipynb":
            chosen += cases
        elif len(cases) > 1:
            chosen += cases[begin % min(turns, len(cases)) :: turns]
        elif begin % turns == 0:
            chosen += cases
    return chosen

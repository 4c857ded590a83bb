"""Seconds that `import torch` and `import transformer_edu` take in a fresh interpreter, side by side.

The two alternate, so that a machine that is busy for a while slows both; medians are printed.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 9
STATEMENTS = ("import torch", "import transformer_edu")


def seconds(statement: str) -> float:
    """Wall-clock time of a fresh interpreter that runs `statement`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Warm the file cache once, then measure in turn."""
    for statement in STATEMENTS:
        seconds(statement)
    measured: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(ROUNDS):
        for statement in STATEMENTS:
            measured[statement].append(seconds(statement))
    for statement in STATEMENTS:
        low, high = min(measured[statement]), max(measured[statement])
        print(f"{statement:24} median {statistics.median(measured[statement]):.2f} s  ({low:.2f} to {high:.2f})")
    for name, summary in (("median", statistics.median), ("fastest", min)):
        torch_time, our_time = (summary(measured[statement]) for statement in STATEMENTS)
        print(f"over torch's own import  {our_time - torch_time:+.2f} s  ({name} against {name})")


if __name__ == "__main__":
    main()

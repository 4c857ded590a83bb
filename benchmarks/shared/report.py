"""Results as a table to read and as a file to keep."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from transformer_edu.support.files import write_atomically
from transformer_edu.support.provenance import provenance

RESULTS = Path(__file__).resolve().parents[1] / "results.json"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that every measurement has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="tiny shapes and one round: does it run at all?")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file whose section of ours is replaced")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads that torch may use")
    return parser


def save(section: str, results: dict[str, Any], options: argparse.Namespace) -> None:
    """Put `results`, with the machine they come from, into their section of the file; leave the others alone."""
    command = f"python benchmarks/{section}.py" + (" --quick" if options.quick else "")
    kept = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    kept[section] = {**provenance(command), **results}
    write_atomically(options.out, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their columns; numbers to three significant digits."""
    cells = [[_text(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    print(f"\n{title}")
    for row in cells:
        print(
            "  "
            + "  ".join(
                cell.rjust(width) if index else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
        )


def _text(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)

"""Make the recordings: results that are too dear to compute on every build of the book.

python tools/make_recordings.py                              # all of them, about two hours on two cores
python tools/make_recordings.py --only running-sentence      # one of them

tools/experiments/NAME.py, or transformer_edu/book/experiments/NAME.py where a chapter uses it too, makes
transformer_edu/book/recordings/NAME.json: {name, command, commit, machine, date, data}.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import experiments

from transformer_edu.book.experiments import all_experiments
from transformer_edu.support.files import check_writable, write_atomically
from transformer_edu.support.provenance import provenance
from transformer_edu.support.threads import one_thread

FOLDER = Path(__file__).resolve().parents[1] / "transformer_edu" / "book" / "recordings"
EXPERIMENTS = all_experiments(experiments)


def as_text(recording: dict[str, Any]) -> str:
    """JSON with one line for each entry of `data` and of its longest lists: small, and a difference can be read."""
    head = [f' "{key}": {_line(value)}' for key, value in recording.items() if key != "data"]
    entries = []
    for key, value in recording["data"].items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"   {_line(row)}" for row in value)
            entries.append(f'  "{key}": [\n{rows}\n  ]')
        else:
            entries.append(f'  "{key}": {_line(value)}')
    return "{\n" + ",\n".join([*head, ' "data": {\n' + ",\n".join(entries) + "\n }"]) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def make(name: str, folder: Path = FOLDER) -> Path:
    """Run one experiment and write its recording; the path of the file."""
    path = folder / f"{name}.json"
    check_writable(path)  # before the work, which may take hours
    with one_thread():
        facts = provenance(f"python tools/make_recordings.py --only {name}")
        write_atomically(path, as_text({"name": name, **facts, "data": EXPERIMENTS[name]()}).encode())
    return path


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    purposes = [f"{name:18} {(record.__doc__ or '').splitlines()[0]}" for name, record in EXPERIMENTS.items()]
    parser = argparse.ArgumentParser(
        description="Make the recordings of the book.",
        epilog="\n".join(purposes),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=EXPERIMENTS, metavar="NAME", action="append",
                        help="make this one (may be repeated); they are listed below")  # fmt: skip
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args(arguments)
    for name in options.only or EXPERIMENTS:
        print(f"wrote {make(name, options.out).name}")


if __name__ == "__main__":
    main()

"""What is under version control: text, pictures and the models' weights, and nothing that was only lying about."""

import subprocess
from pathlib import PurePosixPath

import pytest

from tests.conftest import ROOT

KINDS = {
    *(
        ".py",
        ".md",
        ".ipynb",
        ".js",
        ".jsx",
        ".ts",
        ".css",
        ".json",
        ".jsonl",
        ".toml",
        ".yml",
        ".txt",
        ".in",
        ".cff",
        ".bib",
        ".html",
    ),
    *(".svg", ".png", ".webp", ".safetensors", ".log", ".typed", ""),
}
LARGEST = 1_000_000  # bytes
LARGE = {f"transformer_edu/pretrained/{name}/model.safetensors" for name in ("multi30k-de-en", "stories")}


def test_every_file_is_of_a_kind_that_the_book_is_made_of_and_small():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout: nothing says what is kept")
    for name in filter(None, listed.stdout.split("\0")):
        path = PurePosixPath(name)
        assert path.suffix in KINDS or path.name.startswith("."), f"{name}: of no known kind"
        assert name in LARGE or (ROOT / name).stat().st_size <= LARGEST, f"{name}: larger than {LARGEST:,} bytes"

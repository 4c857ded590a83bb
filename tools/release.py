"""Make a release ready: a wheel of the package and a zip of the book in build/. Nothing is pushed.

python tools/release.py          # asks that the tree is clean, the versions agree and the book is built
python tools/release.py --zip    # the zip alone
"""

import argparse
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from transformer_edu.support.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say: the same files make the same bytes


def versions(root: Path) -> dict[str, str]:
    """The version that each place names; "" where it names none."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    patterns = {"CITATION.cff": r"^version: (\S+)$", "CHANGELOG.md": r"^## \[(\d\S*)\]"}
    found = {name: re.search(p, (root / name).read_text(encoding="utf-8"), re.M) for name, p in patterns.items()}
    return {"pyproject.toml": project["version"]} | {name: match[1] if match else "" for name, match in found.items()}


def obstacles(root: Path) -> list[str]:
    """What stands in the way of a release, a sentence each."""
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True, text=True)
    found = versions(root)
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    pending = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", log, re.M | re.S)
    return [
        *(["The tree has changes that are not committed."] if changed.stdout else []),
        *([f"The versions differ: {found}."] if len(set(found.values())) > 1 else []),
        *(["CHANGELOG.md still has entries under Unreleased."] if pending and pending[1].strip() else []),
    ]


def zip_of(folder: Path, name: str) -> bytes:
    """The files of a folder as a zip in which they lie below `name`: the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", FIRST_DAY)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, wherever it is made
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return content.getvalue()


def make_zip() -> Path:
    """Write the built book to build/; exit with a word where it is not built."""
    book, version = ROOT / "_build" / "html", versions(ROOT)["pyproject.toml"]
    if not (book / "index.html").exists():
        sys.exit("The book is not built: run `make book` first.")
    name = f"transformer-edu-book-{version}"
    write_atomically(ROOT / "build" / f"{name}.zip", zip_of(book, name))
    return ROOT / "build" / f"{name}.zip"


def main() -> None:
    """Check, build, and say what remains."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zip", action="store_true", help="only the zip of the book")
    if parser.parse_args().zip:
        print(make_zip().relative_to(ROOT))
        return
    if found := obstacles(ROOT):
        sys.exit("\n".join(found))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "build", "."]
    subprocess.run(command, cwd=ROOT, check=True)
    version = versions(ROOT)["pyproject.toml"]
    print(f"build/ holds the wheel and {make_zip().name}. What remains:")
    print(f"  make test-all; git tag v{version}; git push --tags; attach both files to the release")


if __name__ == "__main__":
    main()

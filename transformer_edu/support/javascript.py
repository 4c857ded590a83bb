"""Modules joined into one text: a module loaded from a Blob address cannot import a relative path."""

import re
from pathlib import Path

IMPORT = re.compile(r'^import (?:\{[^}]*\}|\* as \w+) from "\.[\w./-]+\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
NAMES = re.compile(r"^export (?:async )?(?:function\*?|const|let|class) (?:\[([\w, ]+)\]|(\w+))", re.MULTILINE)
REEXPORT = re.compile(r'^export \* from "\./([\w/-]+\.js)";$', re.MULTILINE)


def joined(index: Path) -> str:
    """All modules that `index` exports, in its order, as one text without imports and exports."""
    return "".join(map(bare, _parts(index)))


def exported(index: Path) -> list[str]:
    """The names of all that these modules export."""
    found = [several or one for part in _parts(index) for several, one in NAMES.findall(part)]
    return ", ".join(found).split(", ")


def _parts(index: Path) -> list[str]:
    names = REEXPORT.findall(index.read_text(encoding="utf-8"))
    return [(index.parent / name).read_text(encoding="utf-8") for name in names]


def bare(text: str) -> str:
    """A module's text without imports and exports, to stand among others."""
    return EXPORT.sub("", without_imports(text))


def without_imports(text: str) -> str:
    """A module's text without its imports, which stand above it in what was joined."""
    return IMPORT.sub("", text)

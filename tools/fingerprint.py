"""The fingerprint of a chapter: what its stored outputs depend on.

It covers the chapter's code cells except the first (setup) cell, and the source of every module of the package that
the code reaches. Names are followed statically: `from transformer_edu import MultiHeadAttention` leads through
`transformer_edu/__init__.py` to attention.py and on to what attention.py imports, so a change in one module re-runs
only the chapters that use it. A file that a module or a cell names in a string (a script, weights, a recording)
counts as source too.
"""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

PACKAGE = "transformer_edu"
DATA_SUFFIXES = {".js", ".css", ".json", ".safetensors", ".txt", ".csv"}
JS_IMPORT = re.compile(r"""(?:from|import)\s*["'](\.{1,2}/[^"']+\.js)["']""")


class Sources:
    """The package's modules by dotted name, and what each one reaches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.trees: dict[str, ast.Module] = {}
        self.files: dict[str, Path] = {}
        for path in sorted((root / PACKAGE).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.files[name], self.trees[name] = path, ast.parse(path.read_text(encoding="utf-8"))

    def reached_by(self, code: list[str]) -> set[Path]:
        """Return every file of the package that the given pieces of code reach, through any number of imports."""
        tree = ast.parse("\n".join(plain_python(piece) for piece in code))
        pending, seen, files = self.modules_of(tree, PACKAGE), set[str](), self.named_files(tree, self.root / PACKAGE)
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            pending |= self.modules_of(self.trees[name], name)
            files |= {self.files[name]} | self.data_of(name)
        return files

    def modules_of(self, tree: ast.AST, module: str) -> set[str]:
        """Return the package's modules that one piece of source uses: its imports, and attributes of imported ones."""
        found, aliases = set[str](), dict[str, str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    if item.name.split(".")[0] == PACKAGE:
                        aliases[item.asname or PACKAGE] = item.name if item.asname else PACKAGE
                        found |= {item.name} if item.name != PACKAGE else set()
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(node, module)
                for item in node.names if origin else []:
                    target = f"{origin}.{item.name}"
                    if target in self.files and self.is_package(target):
                        aliases[item.asname or item.name] = target
                    else:
                        found |= self.resolve(str(origin), item.name)
        return (found | self.through_aliases(tree, aliases)) & self.files.keys()

    def through_aliases(self, tree: ast.AST, aliases: dict[str, str]) -> set[str]:
        """Resolve `alias.name` for modules bound to a name; a module passed about whole counts with all it exports."""
        found, attributes = set[str](), set[int]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                attributes.add(id(node.value))
                found |= self.resolve(aliases[node.value.id], node.attr)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in aliases and id(node) not in attributes:
                found.add(aliases[node.id])
        return found

    def origin(self, node: ast.ImportFrom, module: str) -> str | None:
        """Return the absolute name of the module that a `from ... import` reads, or None outside the package."""
        if not node.level:
            return node.module if node.module and node.module.split(".")[0] == PACKAGE else None
        base = module.split(".") if self.is_package(module) else module.split(".")[:-1]
        base = base[: len(base) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    def resolve(self, module: str, name: str) -> set[str]:
        """Return the modules behind `name` of `module`: the one that defines it, or `module` itself when unsure."""
        if f"{module}.{name}" in self.files:
            return {f"{module}.{name}"}
        if module not in self.trees or not self.is_package(module):
            return {module}
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.ImportFrom) and any((item.asname or item.name) == name for item in node.names):
                origin = self.origin(node, module)
                original = next(item.name for item in node.names if (item.asname or item.name) == name)
                return self.resolve(origin, original) if origin and origin != module else {module}
        return self.lazily(module, name) or {module}

    def lazily(self, module: str, name: str) -> set[str]:
        """Resolve a name that a package loads on first use, from a table in its source: {"name": "submodule"}."""
        for node in ast.walk(self.trees[module]):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values, strict=True):
                words = {n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    for pair in ((key.value, words), *((word, {key.value}) for word in words)):
                        if pair[0] == name:
                            absolute = {w if w.startswith(PACKAGE) else f"{module}.{w.lstrip('.')}" for w in pair[1]}
                            if absolute & self.files.keys():
                                return absolute & self.files.keys()
        return set()

    def is_package(self, module: str) -> bool:
        """Tell whether a module is a folder with an __init__.py."""
        return module in self.files and self.files[module].name == "__init__.py"

    def data_of(self, module: str) -> set[Path]:
        """Return the data files that a module names, that bear its name, or that lie beside a package's __init__.py."""
        path = self.files[module]
        if path.name == "__init__.py" and path.parent == self.root / PACKAGE:
            return set()
        stem = path.stem.lstrip("_").replace("_", "-")
        beside = {f for f in data_files(path.parent) if f.parent == path.parent and self.is_package(module)}
        siblings = beside | {f for f in data_files(path.parent) if f.stem.replace("_", "-") == stem}
        return with_imported_scripts(siblings | self.named_files(self.trees[module], path.parent))

    def named_files(self, tree: ast.AST, folder: Path) -> set[Path]:
        """Return the files below `folder`, or of the recordings, that a string in the source names."""
        words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        recorded = {f for f in data_files(self.root / PACKAGE / "recordings") if f.stem in words or f.name in words}
        quoted = {f for f in data_files(folder) if any(word.endswith(f.name) for word in words)}
        return (
            quoted
            | recorded
            | {f for f in data_files(self.root / PACKAGE / "recordings") if any(f.name in w for w in words)}
        )


@cache
def data_files(folder: Path) -> tuple[Path, ...]:
    """List the data files below a folder."""
    return tuple(sorted(f for f in folder.rglob("*") if f.suffix in DATA_SUFFIXES)) if folder.is_dir() else ()


def with_imported_scripts(files: set[Path]) -> set[Path]:
    """Add the scripts that scripts import from each other."""
    pending, seen = set(files), set[Path]()
    while pending:
        path = pending.pop()
        seen.add(path)
        if path.suffix == ".js":
            found = {(path.parent / name).resolve() for name in JS_IMPORT.findall(path.read_text(encoding="utf-8"))}
            pending |= {f for f in found if f.is_file()} - seen
    return seen


def plain_python(code: str) -> str:
    """Turn IPython's magics into plain Python, so that the source can be parsed."""
    return TransformerManager().transform_cell(code)


def fingerprint(notebook: NotebookNode, root: Path, sources: Sources | None = None) -> str:
    """Return the SHA-256 of all that the chapter's outputs depend on."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    digest = hashlib.sha256()
    for cell in code[1:]:
        digest.update(cell.rstrip().encode() + b"\0")
    for path in sorted((sources or Sources(root)).reached_by(code)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

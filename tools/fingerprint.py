"""The fingerprint of a chapter: what its stored outputs depend on.

It covers the chapter's code cells except the first (setup) cell, and the source of every module of the package that the
code reaches. Names are followed statically: `from transformer_edu import MultiHeadAttention` leads through
`transformer_edu/__init__.py` to attention.py and on to what attention.py imports, so a change in one module re-runs
only the chapters that use it. A package that, when imported, walks through a folder (`iter_modules`) reaches all of it;
a function that it hands out from there, only the file that defines it. A data file that a module or a cell names in a
string (weights, a recording), or that bears a module's name, counts as source too.

A module counts with its syntax tree, so that comments, docstrings and layout re-run nothing; one whose text a cell
prints (`inspect.getsource`, `help`, `__doc__`) counts with its text. Scripts and styles of the figures do not count:
they run in the reader's browser, and no stored output holds a line of them. (A still does: see take_stills.py.)
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

PACKAGE = "transformer_edu"
DATA_SUFFIXES = {".js", ".css", ".json", ".jsonl", ".safetensors", ".txt", ".csv"}
FRONT_END = {"js", "css"}  # folders of the figures' scripts and styles
PRINTS_TEXT = {"getsource", "getsourcelines", "getdoc", "help"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ASKS_IPYTHON = {"pinfo", "pinfo2", "psource", "pdoc", "pfile"}


class Sources:
    """The package's modules by dotted name, and what each one reaches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.trees: dict[str, ast.Module] = {}
        self.files: dict[str, Path] = {}
        for path in sorted((root / PACKAGE).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.files[name] = path
            self.trees[name] = without_docstrings(ast.parse(path.read_text(encoding="utf-8")))
        self.moved = lazily_imported(self.trees[PACKAGE])
        found = ((root / PACKAGE).rglob(f"*{suffix}") for suffix in DATA_SUFFIXES)
        self.data = [path for paths in found for path in paths if FRONT_END.isdisjoint(path.relative_to(root).parts)]
        # what a module consists of, uses, names and means is the same for every chapter: found out once
        self.nodes = cache(lambda tree: list(ast.walk(tree)))
        self.uses = cache(lambda name: self.modules_of(self.trees[name], name))
        self.data_of = cache(self.find_data_of)
        self.meaning = cache(lambda name: repr(structure(self.trees[name])).encode())
        self.resolve = cache(self.find)

    def reached_by(self, code: list[str]) -> dict[Path, bytes]:
        """Return every file of the package that the given pieces of code reach, each with what of it counts."""
        tree = ast.parse("\n".join(plain_python(piece) for piece in code))
        modules = self.modules_reached(self.modules_of(tree, PACKAGE))
        printed = self.printed_by(tree)
        data = self.named_files(tree, self.root / PACKAGE).union(*map(self.data_of, modules))
        counts = {path: path.read_bytes() for path in data}
        for name in modules:
            as_text = printed is None or name in printed
            counts[self.files[name]] = self.files[name].read_bytes() if as_text else self.meaning(name)
        return counts

    def modules_reached(self, pending: set[str]) -> set[str]:
        """Return the given modules, and all that they lead to through any number of imports."""
        seen = set[str]()
        while pending := pending - seen:
            seen |= pending
            pending = set().union(*map(self.uses, pending))
        return seen

    def modules_of(self, tree: ast.AST, module: str) -> set[str]:
        """Return the package's modules that one piece of source uses: its imports, and attributes of imported ones."""
        found, aliases = set[str](), dict[str, str]()
        for node in self.nodes(tree):
            if isinstance(node, ast.Import):
                for item in node.names:
                    if item.name.split(".")[0] == PACKAGE:
                        aliases[item.asname or PACKAGE] = item.name if item.asname else PACKAGE
                        found |= {item.name} if item.name != PACKAGE else set()
            elif isinstance(node, ast.ImportFrom):
                origin = self.origin(node, module)
                for item in node.names if origin else []:
                    target = self.moved.get(f"{origin}.{item.name}", f"{origin}.{item.name}")
                    if target in self.files and self.is_package(target):
                        aliases[item.asname or item.name] = target
                    else:
                        found |= self.resolve(str(origin), item.name)
        if walks_when_imported(tree):
            found |= {each for folder in aliases.values() for each in self.files if each.startswith(f"{folder}.")}
        return (found | self.through_aliases(tree, aliases)) & self.files.keys()

    def through_aliases(self, tree: ast.AST, aliases: dict[str, str]) -> set[str]:
        """Resolve `alias.name` for modules bound to a name; a module passed about whole counts with all it exports."""
        found, attributes = set[str](), set[int]()
        for node in self.nodes(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
                attributes.add(id(node.value))
                found |= self.resolve(aliases[node.value.id], node.attr)
        for node in self.nodes(tree):
            if isinstance(node, ast.Name) and node.id in aliases and id(node) not in attributes:
                found.add(aliases[node.id])
        return found

    def printed_by(self, tree: ast.Module) -> set[str] | None:
        """Return the modules whose text the code prints; None if only running it would tell which."""
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        found = set[str]()
        for expression in shown_expressions(tree):
            names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
            binding = [only(node, names) for node in imports]
            bound = {(item.asname or item.name).split(".")[0] for node in binding for item in node.names}
            if not names or names - bound - own:
                return None
            found |= self.modules_of(ast.Module([*binding, ast.Expr(expression)], []), PACKAGE)
        return found

    def origin(self, node: ast.ImportFrom, module: str) -> str | None:
        """Return the absolute name of the module that a `from ... import` reads, or None outside the package."""
        if not node.level:
            return node.module if node.module and node.module.split(".")[0] == PACKAGE else None
        base = module.split(".") if self.is_package(module) else module.split(".")[:-1]
        base = base[: len(base) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)

    def find(self, module: str, name: str) -> set[str]:
        """Return the modules behind `name` of `module`: the one that defines it, or `module` itself when unsure."""
        if f"{module}.{name}" in self.files:
            return {f"{module}.{name}"}
        if module not in self.trees or not self.is_package(module):
            return {module}
        for node in self.nodes(self.trees[module]):
            if isinstance(node, ast.ImportFrom) and any((item.asname or item.name) == name for item in node.names):
                origin = self.origin(node, module)
                original = next(item.name for item in node.names if (item.asname or item.name) == name)
                return self.resolve(origin, original) if origin and origin != module else {module}
        return self.defining(module, name) or {module}

    def defining(self, package: str, name: str) -> set[str]:
        """Return the modules below a package that define a function of this name: it may hand out what it finds."""
        inside = [module for module in self.trees if module.startswith(f"{package}.")]
        return {
            module
            for module in inside
            if any(isinstance(node, ast.FunctionDef) and node.name == name for node in self.trees[module].body)
        }

    def is_package(self, module: str) -> bool:
        """Tell whether a module is a folder with an __init__.py."""
        return module in self.files and self.files[module].name == "__init__.py"

    def find_data_of(self, module: str) -> set[Path]:
        """Return the data files beside or below a module that it names, or that bear its name."""
        path = self.files[module]
        own = {f for f in self.data if f.stem == path.stem and f.is_relative_to(path.parent)}
        return own | self.named_files(self.trees[module], path.parent)

    def named_files(self, tree: ast.AST, folder: Path) -> set[Path]:
        """Return the data files below `folder`, or of the recordings, that a string in the source names.

        A recording may be named without its suffix, and a folder that holds nothing but data stands for all of it.
        """
        words = {n.value for n in self.nodes(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        found = set[Path]()
        for path in self.data:
            recorded = path.parent.name == "recordings"
            if recorded or path.is_relative_to(folder):
                named = any(path.name in word for word in words) or (recorded and path.stem in words)
                of_folder = path.parent.name in words and not (path.parent / "__init__.py").exists()
                found |= {path} if named or of_folder else set()
        return found


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Take the docstrings out of a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree


def lazily_imported(tree: ast.Module) -> dict[str, str]:
    """What the package hands out under another name when it is asked for (its LATER): both as dotted names."""
    values = (n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "LATER")
    return {
        f"{PACKAGE}.{name}": f"{PACKAGE}.{place}" for value in values for name, place in ast.literal_eval(value).items()
    }


def walks_when_imported(tree: ast.AST) -> bool:
    """Tell whether a module looks for the files of a folder outside its functions, which may never be called."""
    at_once = [node for node in getattr(tree, "body", []) if not isinstance(node, DOCUMENTED)]
    names = (inner for node in at_once for inner in ast.walk(node) if isinstance(inner, ast.Name))
    return any(name.id == "iter_modules" for name in names)


def structure(node: object) -> object:
    """A syntax tree as nested lists, the same for every version of Python (`ast.dump` writes each one's own)."""
    if isinstance(node, ast.AST):
        fields = [(name, structure(value)) for name, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *fields]
    return [structure(item) for item in node] if isinstance(node, list) else node


def shown_expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what a reader is shown the text of: the arguments of `inspect.getsource` and its like, `X` of `X.__doc__`.

    For `X?` and `X??` it is the string "X", which names nothing.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "__doc__":
            yield node.value
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            words = {part.value for part in node.args if isinstance(part, ast.Constant)}
            if name in PRINTS_TEXT or (name == "run_line_magic" and not words.isdisjoint(ASKS_IPYTHON)):
                yield from node.args


def only(node: ast.Import | ast.ImportFrom, names: set[str]) -> ast.Import | ast.ImportFrom:
    """Return an import reduced to what binds one of these names."""
    kept = [item for item in node.names if (item.asname or item.name).split(".")[0] in names]
    return ast.ImportFrom(node.module, kept, node.level) if isinstance(node, ast.ImportFrom) else ast.Import(kept)


def plain_python(code: str) -> str:
    """Turn IPython's magics into plain Python, so that the source can be parsed."""
    return TransformerManager().transform_cell(code)


def fingerprint(notebook: NotebookNode, root: Path, sources: Sources | None = None) -> str:
    """Return the SHA-256 of all that the chapter's outputs depend on."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    digest = hashlib.sha256()
    for cell in code[1:]:
        digest.update(cell.rstrip().encode() + b"\0")
    for path, content in sorted((sources or Sources(root)).reached_by(code).items()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + content + b"\0")
    return digest.hexdigest()

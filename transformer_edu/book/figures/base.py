"""The base class of every interactive figure.

A figure works twice from one ES module: with a kernel as a widget, and on a published page, without one, from the state
that its HTML carries. See `transformer_edu.book.figures.assets` for how the module's text is put together.
"""

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import anywidget
import traitlets

from transformer_edu.book.figures import assets, fields
from transformer_edu.support.files import write_atomically

SPOKEN = {"<bos>": "start", "<eos>": "the end", "<unk>": "an unknown word"}
INHERITED_TRAITS = frozenset(anywidget.AnyWidget.class_trait_names())


class Figure(anywidget.AnyWidget):
    """Subclass it with a `figure_name` (its view is js/NAME.jsx), fields (see `fields`) and `alt_text`.

    The fields are its arguments; it raises ValueError or TypeError for what it cannot show.
    """

    figure_name: ClassVar[str] = ""
    registry: ClassVar[dict[str, type["Figure"]]] = {}
    _declared: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give each named figure its module and styles. (traitlets makes more subclasses; those inherit.)"""
        name = cls.__dict__.get("figure_name")
        if name:
            cls._esm = assets.module_source(name)
            cls._css = assets.stylesheet(name)
            Figure.registry[name] = cls
        super().__init_subclass__(**kwargs)
        cls._declared = fields.fields_of(cls)
        if "__init__" not in cls.__dict__ and cls._declared:
            cls.__signature__ = fields.signature(cls._declared)

    def __init__(self, *args: Any, **given: Any) -> None:
        arguments = inspect.signature(type(self)).bind(*args, **given)
        arguments.apply_defaults()
        self._opened(fields.filled(self._declared, arguments.arguments))

    def _opened(self, so: SimpleNamespace) -> None:
        """Begin with these values of all traits; the others of `so` are not kept."""
        state = {name: value for name, value in vars(so).items() if name in self.trait_names(sync=True)}
        try:
            super().__init__(**state)
        except traitlets.TraitError as error:
            raise TypeError(f"each argument must have the type of its trait, but {error}") from error
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        """What a module asks of the kernel."""
        if content.get("ask") == "picture":
            self.send({"picture": assets.picture_source()})

    def alt_text(self) -> str:
        """What the figure shows in its present state, in words, for whoever cannot see it."""
        raise NotImplementedError(f"{type(self).__name__} must define alt_text()")

    def state(self) -> dict[str, Any]:
        """The figure's own synchronized traits: all that its module needs."""
        names = [name for name in self.trait_names(sync=True) if name not in INHERITED_TRAITS and name[0] != "_"]
        return {name: getattr(self, name) for name in sorted(names)}

    def behind(self) -> "Figure | None":
        """A figure that a reader of a published page can open in this one's place."""
        return None

    def html(self, alt: str = "") -> str:
        """The figure's element for a published page: its state as JSON, no ids, the same on every run.

        `alt` takes the place of `alt_text()`.
        """
        other = self.behind()
        behind = (other.figure_name, other.state()) if other else None
        return assets.figure_html(self.figure_name, self.state(), alt or self.alt_text(), behind)

    def save(self, path: str | Path) -> Path:
        """Write one HTML file that shows the figure anywhere: from disk, offline, without Python."""
        page = assets.standalone_page(self.html(), title=self.figure_name)
        write_atomically(path, page.encode())
        return Path(path)

    def __repr__(self) -> str:
        """The figure's name; nothing that differs from run to run."""
        return f"<figure {self.figure_name}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget view for a live notebook, HTML for stored outputs, and a line of text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return data | {"text/html": self.html(), "text/plain": repr(self)}, metadata


def matrix_trait() -> traitlets.List:
    """A matrix as a list of rows: plain JSON."""
    return traitlets.List(traitlets.List()).tag(sync=True)


def spoken(word: str) -> str:
    """A token in words, for alt texts."""
    return SPOKEN.get(word, word)

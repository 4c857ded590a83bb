"""The base class of figures that run a model in the reader's browser."""

from types import SimpleNamespace
from typing import Any

import traitlets

from transformer_edu.book.engine.page_file import Vocabularies, page_file
from transformer_edu.book.engine.shipped import shipped_file
from transformer_edu.book.engine.weights import description, weight_scripts
from transformer_edu.book.figures.base import Figure
from transformer_edu.models import GPT
from transformer_edu.transformer import Transformer


class ModelFigure(Figure):
    """A figure with a model: its module gets the file of weights when a reader first touches it.

    On a published page the file of a shipped model lies beside the page's scripts, and that of any other model inside
    the figure's HTML; in a live notebook the kernel sends it.

    One of its fields sets `so.content` and `so.name`, what `file_of` gives; both are empty for a figure that shows what
    was recorded and runs no model.
    """

    model_file = traitlets.Dict().tag(sync=True)

    def _opened(self, so: SimpleNamespace) -> None:
        self._content = so.content
        so.model_file = description(so.content, so.name) if so.content else {}
        super()._opened(so)

    def _answer(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
        super()._answer(_, content, buffers)
        if content.get("ask") == "weights":
            self.send({"weights": self.model_file["sha256"]}, buffers=[self._content])

    def html(self, alt: str = "") -> str:
        """As every figure's; with the weights in it unless they are a shipped model's."""
        if not self._content or self.model_file["name"]:
            return super().html(alt)
        scripts = "".join(f"<script>{text}</script>" for text in weight_scripts(self._content).values())
        return super().html(alt) + scripts


def file_of(
    shipped: str, model: Transformer | GPT | None, vocabularies: Vocabularies | None, named: str = "vocabularies"
) -> tuple[bytes, str]:
    """A figure's file and its name: of the shipped model, or, under no name, of a model that was given.

    `named`: what a figure calls the vocabularies.

    Raises:
        ValueError: of a model and its vocabularies (both, or its tokenizer) only one is given, or they do not fit.
    """
    if model is not None and vocabularies is not None:
        return page_file(model, vocabularies), ""
    if model is None and vocabularies is None:
        return shipped_file(shipped), shipped
    given, value = (named, vocabularies) if model is None else ("model", model)
    raise ValueError(f"model and {named} must be given together, got {given}={value!r} alone"[:300])

"""Write a story token by token, in the page: what may come next, what the filters leave in, what luck draws."""

from dataclasses import asdict
from typing import ClassVar

import traitlets

from transformer_edu.book.engine.shipped import STORIES
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_range, check_real, check_text
from transformer_edu.book.figures.model_figure import ModelFigure, file_of
from transformer_edu.book.figures.next_word_data import SHOWN, Settings, recorded_text
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.models import GPT

LARGEST_K = 40


class NextWord(ModelFigure):
    """A language model in the reader's browser: the next token's probabilities, of which one is drawn or taken.

    Args:
        beginning: what it goes on from; "" begins a text.
        temperature: from 0.1 to 2.
        top_k: from 1 to 40; None leaves all in.
        top_p: from 0.05 to 1; 1 leaves all in.
        min_p: from 0 to 0.5, a share of the largest probability; 0 leaves all in.
        seed: of the luck, from 0 to 9,999.
        place: how many of the 20 tokens that were drawn beforehand are written; the bars are those of the next.
        model, tokenizer: a GPT of one's own, in place of the shipped one of stories.

    Raises:
        TypeError, ValueError: one of these is something else.
    """

    figure_name: ClassVar[str] = "next-word"

    beginning = traitlets.Unicode().tag(sync=True)
    written = traitlets.List(traitlets.Int()).tag(sync=True)
    place = traitlets.Int().tag(sync=True)
    temperature = traitlets.Float().tag(sync=True)
    top_k = traitlets.Int(None, allow_none=True).tag(sync=True)
    top_p = traitlets.Float().tag(sync=True)
    min_p = traitlets.Float().tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        beginning: str = "Once upon a time, there was a little",
        temperature: float | int = 0.8,
        top_k: int | None = None,
        top_p: float | int = 0.95,
        min_p: float | int = 0.0,
        seed: int = 0,
        place: int = 0,
        *,
        model: GPT | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        settings = Settings(
            check_real("temperature", temperature, 0.1, 2.0),
            None if top_k is None else check_range("top_k", top_k, 1, LARGEST_K),
            check_real("top_p", top_p, 0.05, 1.0),
            check_real("min_p", min_p, 0.0, 0.5),
            check_range("seed", seed, 0, 9_999),
        )
        check_text("beginning", beginning, 0, 200)
        content, name = file_of(STORIES, model, tokenizer, "tokenizer")
        recorded = recorded_text(content, beginning, settings)
        written = [one for one, _ in recorded["written"]]
        super().__init__(
            content,
            name,
            beginning=beginning,
            written=written,
            place=check_range("place", place, 0, len(written)),
            recorded=recorded,
            **asdict(settings),
        )

    def alt_text(self) -> str:
        """The text so far, the likeliest next tokens, what is left in, and what was drawn."""
        place = self.recorded["places"][self.place]
        tokens = [token for _, token in self.recorded["written"]]
        so_far = self.beginning + "".join(tokens[: self.place]).replace("·", " ")
        bars = ", ".join(f"{spoken(token)} {chance:.2f}" for _, token, chance in place["best"][:4])
        drawn = ", ".join(spoken(token) for token in tokens[self.place :][:8])
        return (
            f"A text: {so_far[-150:]}. Bars for the {SHOWN} likeliest next tokens, first {bars}, and one for all "
            f"others. At temperature {self.temperature:g} and top-p {self.top_p:g}, {place['kept']} of "
            f"{self.recorded['vocab']} tokens are left in. Drawn from here, in pale: {drawn or 'nothing'}."
        )

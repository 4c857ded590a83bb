"""Translate a sentence of one's own, word by word, in the page: what comes next, why, and what else could have come."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets

from transformer_edu.book.engine.page_file import Vocabularies
from transformer_edu.book.engine.shipped import GRAMMAR, SHIPPED
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.inputs import check_index, check_sentence, check_text, check_words
from transformer_edu.book.figures.model_figure import ModelFigure, file_of
from transformer_edu.book.figures.sentence_data import MOST, kinds_of
from transformer_edu.book.figures.sentence_translator_data import (
    MOST_TOKENS,
    PARTS,
    SEARCHES,
    Languages,
    languages_of,
    least_sure,
    opening_answers,
    parts_of,
)
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.pretrained.translator import TRANSLATOR
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

FOXES = "these foxes want a hat"  # who wants whom stands in the order alone
RAIN = "Ein Radfahrer fährt bei Regen durch die Stadt."  # which greedy search loses
TO_TRY = ["Zwei Hunde spielen im Schnee.", "Eine Frau liest ein Buch."]  # for who writes no German
NAMES = {GRAMMAR: ["English", "French"], TRANSLATOR: ["German", "English"], "": ["", ""]}


class SentenceTranslator(ModelFigure):
    """Every step of a translation, of any sentence, in the reader's browser: the likeliest next words, to go on from.

    Args:
        sentence: of at most 40 tokens, or, for a model of whole words, 12 words that it knows; None: the book's.
        taken: what the model has to do without, of "order", "forward" and "scale".
        search: "greedy", or "beam" for a beam of 5.
        step: the written token whose rivals are shown, counts from 0; None is the one of which it was least sure.
        shipped: "multi30k-de-en", German to English, 5.8 MB that a reader loads with a click; or "grammar", English to
            French, which comes when the figure is touched.
        model, vocabularies: a model of one's own with its tokenizer or its two vocabularies, in place of a shipped one.

    Raises:
        TypeError, ValueError: one of these is something else, or the sentence is empty, too long, or not in the
            model's words.
    """

    figure_name: ClassVar[str] = "sentence-translator"

    sentence = traitlets.Unicode().tag(sync=True)
    taken = traitlets.List(traitlets.Unicode()).tag(sync=True)
    search = traitlets.Unicode().tag(sync=True)
    begun = traitlets.List(traitlets.Int()).tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    recorded = traitlets.List(traitlets.Dict()).tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    parts = traitlets.List(traitlets.Dict()).tag(sync=True)
    languages = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        sentence: str | None = None,
        taken: Sequence[str] = (),
        search: str = "greedy",
        step: int | None = None,
        *,
        shipped: str = TRANSLATOR,
        model: Transformer | None = None,
        vocabularies: Vocabularies | None = None,
    ) -> None:
        check_choice("shipped", shipped, SHIPPED)
        for part in check_words("taken", taken, 0, len(PARTS)):
            check_choice("taken", part, tuple(PARTS))
        check_choice("search", search, SEARCHES)
        content, name = file_of(shipped, model, vocabularies)
        languages = languages_of(content)
        text, line = _line(languages, sentence)
        answers = opening_answers(content, text, tuple(taken), search)
        super().__init__(
            content,
            name,
            sentence=text,
            taken=list(taken),
            search=search,
            step=least_sure(answers[0]) if step is None else check_index("step", step, len(answers[0]["steps"])),
            recorded=answers,
            line=line | ({"examples": TO_TRY} if name == TRANSLATOR else {}),
            parts=parts_of(languages.model.config.num_layers),
            languages=NAMES[name],
        )

    def alt_text(self) -> str:
        """The sentence, its translation, and the rivals at the chosen step."""
        answer = self.recorded[0]
        step = answer["steps"][self.step]
        rivals = ", ".join(f"{spoken(token)} {chance:.2f}" for _, token, chance in step["best"])
        without = "".join(f" Without {PARTS[part]}." for part in self.taken)
        how = "greedy search" if self.search == "greedy" else "a beam of 5"
        return (
            f"A line to type a sentence in: {self.sentence[:120]}. Below it its tokens, and the translation by {how}: "
            f"{answer['ends'][0]['text'][:120]}.{without} At step {self.step + 1} it wrote {spoken(step['token'])}; "
            f"the likeliest there, to go on from: {rivals}. Shades show where it looked. Switches take parts away."
        )


def _line(languages: Languages, sentence: str | None) -> tuple[str, dict[str, object]]:
    """A sentence for this model, and what the page has to know of the line in which a reader types another."""
    width = languages.model.config.d_model
    if isinstance(languages.vocabularies, Tokenizer):
        text = check_text("sentence", RAIN if sentence is None else sentence, 1, 400).strip()
        if not 1 <= len(languages.encode(text)) <= MOST_TOKENS:
            count = len(languages.encode(text))
            raise ValueError(f"sentence must have 1 to {MOST_TOKENS} tokens, got {count}: {text!r}")
        return text, {"kinds": {}, "most": MOST_TOKENS, "width": width}
    text = FOXES if sentence is None else sentence
    plain = text.lower().strip().removesuffix(".") if isinstance(text, str) else text
    words = check_sentence("sentence", plain, languages.vocabularies[0], MOST)
    return " ".join(words), {"kinds": kinds_of(languages.vocabularies[0]), "most": MOST, "width": width}

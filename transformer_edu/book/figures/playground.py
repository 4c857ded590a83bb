"""A translator in the page: type a sentence, see where the model looks, take a part of it away."""

from collections.abc import Sequence
from typing import ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure, spoken
from transformer_edu.book.figures.inputs import check_index, check_words
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.playground_data import PARTS, parts_of, translated
from transformer_edu.book.figures.sentence_data import MOST, opening
from transformer_edu.book.figures.sentence_translator import SentenceTranslator
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

SEEN = "the small black cat sees the fox"  # which is another in French without any of the parts


class Playground(ModelFigure):
    """Translate in the reader's browser, and break the model while it runs.

    Args:
        sentence: at most twelve words that the model knows.
        taken: what the model has to do without, of "order", "cross", "own" and "residual".
        token: the written word whose lines are strong, counts from 0; None is the first where the two orders cross.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; a part has another name.
    """

    figure_name: ClassVar[str] = "playground"

    sentence = traitlets.Unicode().tag(sync=True)
    taken = traitlets.List(traitlets.Unicode()).tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    parts = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self,
        sentence: str = SEEN,
        taken: Sequence[str] = (),
        token: int | None = None,
        *,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        for part in check_words("taken", taken, 0, len(PARTS)):
            check_choice("taken", part, tuple(PARTS))
        opened = opening(sentence, model, vocabularies)
        answer = translated(opened.model, opened.vocabularies, opened.words, taken)
        crossing = next((i for i, row in enumerate(answer["weights"]) if row.index(max(row)) != i), 0)
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            taken=list(taken),
            token=crossing if token is None else check_index("token", token, min(MOST, len(answer["written"]))),
            recorded=answer,
            line=opened.line,
            parts=parts_of(opened.model.config.num_layers),
        )

    def behind(self) -> Figure | None:
        """The translator of any German sentence, for who has words that the grammar's model does not know."""
        return SentenceTranslator() if self.model_file["name"] else None

    def alt_text(self) -> str:
        """The two sentences, and where the chosen word looks."""
        words = self.recorded["source"]
        row, word = self.recorded["weights"][self.token], self.recorded["written"][self.token]
        ranked = sorted(zip(row, words, strict=True), key=lambda pair: -pair[0])
        looks = ", ".join(f"{word} {weight:.2f}" for weight, word in ranked if weight >= 0.05)
        without = "".join(f" Without {PARTS[part]}." for part in self.taken)
        written = " ".join(spoken(one) for one in self.recorded["written"] if one != "<eos>")
        return (
            f"A line to type an English sentence in: {self.sentence}. Below it the words, and the model's French: "
            f"{written}.{without} Lines show where it looked to write each word: for {spoken(word)} at "
            f"{looks or 'no word'}. Four switches take parts of the model away."
        )

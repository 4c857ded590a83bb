"""The key-value cache at work: which rows a decoder layer computes at each step, and which it has kept."""

from typing import ClassVar

import traitlets

from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.cache_stepper_data import cached_rows
from transformer_edu.book.figures.inputs import check_index, check_range
from transformer_edu.book.figures.model_figure import ModelFigure
from transformer_edu.book.figures.sentence_data import opening
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.vocabulary import Vocabulary
from transformer_edu.decoding.cost import cache_size, decoding_cost
from transformer_edu.support.validation import check_boolean
from transformer_edu.transformer import Transformer

DEFAULT_TOKEN = 2  # "petit"
SHORTEST, LONGEST = 8, 512  # of the slider


class CacheStepper(ModelFigure):
    """A translation is written step by step, with the cache and without: a row is computed, kept, or computed again.

    Args:
        sentence: at most twelve words that the model knows.
        step: the step shown first, counts from 1; None is the last.
        token: whose key is compared, kept and computed again, counts from 0, the begin token; None is the third.
        layer: of which decoder layer the keys are, counts from 0; None is the last.
        masked: whether what is computed again has the causal mask.
        length: where the slider for longer sentences stands, in steps, 8 to 512.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long, or a number is out of range.
    """

    figure_name: ClassVar[str] = "cache-stepper"

    sentence = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    masked = traitlets.Bool().tag(sync=True)
    length = traitlets.Int().tag(sync=True)
    recorded = traitlets.Dict().tag(sync=True)
    line = traitlets.Dict().tag(sync=True)
    size = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        sentence: str = RUNNING_SENTENCE,
        *,
        step: int | None = None,
        token: int | None = None,
        layer: int | None = None,
        masked: bool = True,
        length: int = 64,
        model: Transformer | None = None,
        vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        check_boolean("masked", masked)
        opened = opening(sentence, model, vocabularies)
        rows, layers = cached_rows(opened), opened.model.config.num_layers
        steps = len(rows["reads"])
        super().__init__(
            opened.content,
            opened.name,
            sentence=opened.sentence,
            step=steps if step is None else check_range("step", step, 1, steps),
            token=min(DEFAULT_TOKEN, steps - 1) if token is None else check_index("token", token, steps),
            layer=layers - 1 if layer is None else check_index("layer", layer, layers),
            masked=masked,
            length=check_range("length", length, SHORTEST, LONGEST),
            recorded=rows,
            line=opened.line,
            size=opened.model.config.d_model,
        )

    def alt_text(self) -> str:
        """The step, the rows computed both ways, the size of the cache, and whether the key comes out the same."""
        data, source_length = self.recorded, len(self.recorded["source"])
        steps, layers = len(data["reads"]), len(data["kept"])
        shown = (data["reads"][self.step - 1], data["writes"][self.step - 1], data["reads"][self.token])
        reads, writes, compared = map(spoken, shown)
        rows = [decoding_cost(self.step, source_length, cached=way).target_rows for way in (True, False)]
        size = cache_size(self.step, source_length, self.size, layers)
        told = f"The key of “{compared}”, computed again, is the one that was kept."
        if not self.masked:
            told = "Without the causal mask, keys that are computed again need not be those that were kept."
        return (
            f"Tokens down the side, steps across, with the cache and without: a cell is filled where a token's row is "
            f"computed. Step {self.step} of {steps} reads “{reads}” and writes “{writes}”. With the cache one row is "
            f"computed at each step, {rows[0]} so far; without it all rows again, {rows[1]} so far. The cache of "
            f"{layers} layer{'s' if layers > 1 else ''} holds {size:,} numbers. {told}"
        )

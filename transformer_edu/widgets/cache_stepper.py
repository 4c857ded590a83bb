"""The key-value cache at work: which rows a decoder layer computes at each step, and which it has kept."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.decoding.cost import cache_size, decoding_cost, step_cost
from transformer_edu.support.validation import check_boolean
from transformer_edu.widgets.base import Figure, spoken
from transformer_edu.widgets.cache_stepper_data import check_keys, record_keys
from transformer_edu.widgets.inputs import check_index, check_range

DEFAULT_STEP = 6  # five tokens to look back at, and a key that would have changed without the causal mask
DEFAULT_TOKEN = 2  # "petit"
SHORTEST, LONGEST = 8, 512  # of the slider


class CacheStepper(Figure):
    """A sentence is written step by step; each row of Q, K and V is computed, kept, computed again, or not needed.

    Without arguments: the shipped model on the book's running sentence.

    Args:
        recorded: the keys of all steps, as `record_keys` makes them.
        step: the step shown first, counts from 1; None is the sixth, or the last of a shorter sentence.
        cached: whether the picture first shows decoding with the cache.
        token: whose key is compared between steps, counts from 0, the begin token; None is the third (*petit*).
        layer: of which decoder layer the keys are, counts from 0; None is the last.
        length: where the slider for longer sentences stands, in steps, 8 to 512.
    """

    figure_name: ClassVar[str] = "cache-stepper"

    recorded = traitlets.Dict().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    cached = traitlets.Bool().tag(sync=True)
    token = traitlets.Int().tag(sync=True)
    layer = traitlets.Int().tag(sync=True)
    length = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        recorded: Mapping[str, Any] | None = None,
        *,
        step: int | None = None,
        cached: bool = True,
        token: int | None = None,
        layer: int | None = None,
        length: int = 64,
    ) -> None:
        data = check_keys(recordings.load("cached-keys")["data"] if recorded is None else recorded)
        steps, layers = len(data["reads"]), len(data["masked"])
        check_boolean("cached", cached)
        super().__init__(
            recorded=data,
            step=min(DEFAULT_STEP, steps) if step is None else check_range("step", step, 1, steps),
            cached=cached,
            token=min(DEFAULT_TOKEN, steps - 1) if token is None else check_index("token", token, steps),
            layer=layers - 1 if layer is None else check_index("layer", layer, layers),
            length=check_range("length", length, SHORTEST, LONGEST),
        )

    @classmethod
    def of_translator(cls, translator: Any, sentence: str, **options: Any) -> "CacheStepper":
        """A translator (as `pretrained.load_grammar` gives) on a sentence of your own, recorded now."""
        return cls(record_keys(translator, sentence), **options)

    def alt_text(self) -> str:
        """The step, what is computed and what is kept at it, the counts both ways, and the size of the cache."""
        data, source_length = self.recorded, len(self.recorded["source"])
        steps, layers = len(data["reads"]), len(data["masked"])
        shown = (data["reads"][self.step - 1], data["writes"][self.step - 1], data["reads"][self.token])
        reads, writes, compared = map(spoken, shown)
        now = [step_cost(self.step, source_length, cached=way).projected_rows for way in (True, False)]
        total = [decoding_cost(self.step, source_length, cached=way).projected_rows for way in (True, False)]
        size = cache_size(self.step, source_length, data["d_model"], layers)
        return (
            f"Rows of queries, keys and values in one decoder layer, {'with' if self.cached else 'without'} the cache. "
            f"Step {self.step} of {steps} reads “{reads}” and writes “{writes}”: {now[0]} rows are computed with the "
            f"cache, {now[1]} without; so far {total[0]} and {total[1]}. The cache of "
            f"{layers} layer{'s' if layers > 1 else ''} holds {size:,} numbers. The key of “{compared}” is the same at "
            f"every step. Below, the same counts for longer sentences."
        )

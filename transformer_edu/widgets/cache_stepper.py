"""The key-value cache at work: which rows a decoder layer computes at each step, and which it has kept."""

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from transformer_edu import recordings
from transformer_edu.decoding.cost import cache_numbers, decoding_work, step_work
from transformer_edu.support.validation import check_boolean, check_positive_integer
from transformer_edu.widgets.attention_map_data import check_index
from transformer_edu.widgets.base import Figure
from transformer_edu.widgets.cache_stepper_data import check_keys, record_keys

DEFAULT_STEP = 6  # five tokens to look back at, and a key that would have changed without the causal mask
DEFAULT_TOKEN = 2  # "petit"
SHORTEST, LONGEST = 8, 512  # of the slider
SPOKEN = {"<bos>": "start", "<eos>": "end"}


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
            step=min(DEFAULT_STEP, steps) if step is None else _from_one("step", step, 1, steps),
            cached=cached,
            token=min(DEFAULT_TOKEN, steps - 1) if token is None else check_index("token", token, steps),
            layer=layers - 1 if layer is None else check_index("layer", layer, layers),
            length=_from_one("length", length, SHORTEST, LONGEST),
        )

    @classmethod
    def of_translator(cls, translator: Any, sentence: str, **options: Any) -> "CacheStepper":
        """A translator (as `pretrained.load` gives) on a sentence of your own, recorded now."""
        return cls(record_keys(translator, sentence), **options)

    def alt_text(self) -> str:
        """The step, what is computed and what is kept at it, the counts both ways, and the size of the cache."""
        data, source_length = self.recorded, len(self.recorded["source"])
        steps, layers = len(data["reads"]), len(data["masked"])
        shown = (data["reads"][self.step - 1], data["writes"][self.step - 1], data["reads"][self.token])
        reads, writes, compared = (SPOKEN.get(word, word) for word in shown)
        now = [step_work(self.step, source_length, cached=way).projected_rows for way in (True, False)]
        total = [decoding_work(self.step, source_length, cached=way).projected_rows for way in (True, False)]
        size = cache_numbers(self.step, source_length, data["d_model"], layers)
        return (
            f"Rows of queries, keys and values in one decoder layer, {'with' if self.cached else 'without'} the cache. "
            f"Step {self.step} of {steps} reads “{reads}” and writes “{writes}”: {now[0]} rows are computed with the "
            f"cache, {now[1]} without; so far {total[0]} and {total[1]}. The cache of "
            f"{layers} layer{'s' if layers > 1 else ''} holds {size:,} numbers. The key of “{compared}” is the same at "
            f"every step. Below, the same counts for longer sentences."
        )


def _from_one(name: str, value: Any, low: int, high: int) -> int:
    """A whole number from `low` to `high`."""
    check_positive_integer(name, value, minimum=low)
    if value > high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value}")
    return int(value)

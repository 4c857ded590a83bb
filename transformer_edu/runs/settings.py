"""The settings that every training run has, each with its default and what it is for."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from transformer_edu.data.tokenizer import SMALLEST
from transformer_edu.saving.size import in_words
from transformer_edu.support.validation import (
    check_boolean,
    check_choice,
    check_number,
    check_positive_integer,
)

PRECISIONS = ("auto", "float32", "bfloat16", "float64")
LARGEST = 2**63 - 1  # a whole number that every library takes
ADAM_BYTES = {"float64": 32}  # a weight, its gradient and two averages; otherwise in float32


def setting(default: Any, help: str, **more: Any) -> Any:
    """A field of settings; `help` is what the command says of it."""
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every run is told: where it writes, its model's sizes, how it steps, and when it stops."""

    LENIENT: ClassVar[tuple[str, ...]] = ("out", "train", "valid", "steps", "minutes", "patience", "threads", "compile")
    """What may differ when a run goes on. The texts may come from other files: their content is compared."""
    COUNTS: ClassVar[tuple[str, ...]] = ("accumulate", "steps", "warmup_steps", "every", "average")  # each at least 1

    out: str = setting("run", "folder for checkpoints, log and the finished model")
    vocab_size: int = setting(6000, "tokens of the vocabulary")
    d_model: int = setting(256, "length of a token's vector")
    num_heads: int = setting(4, "attention heads")
    d_ff: int = setting(512, "inner length of the feed-forward part")
    num_layers: int = setting(3, "layers")
    dropout: float = setting(0.1, "dropout")
    accumulate: int = setting(1, "compute each batch in this many parts; the result is the same, the memory less")
    steps: int = setting(20_000, "stop after so many updates")
    minutes: float | None = setting(None, "stop at the first evaluation after so many minutes")
    patience: int | None = setting(None, "stop after so many evaluations without a better score")
    learning_rate: float = setting(0.0015, "the highest learning rate, reached at the end of the warm-up")
    warmup_steps: int = setting(1000, "steps in which the learning rate rises; then it falls")
    clip_norm: float = setting(1.0, "longest gradient")
    seed: int = setting(0, "decides weights, order of the data and dropout")
    precision: str = setting(
        "auto", "auto: bfloat16 products where the processor has them, else float32", choices=PRECISIONS
    )
    compile: bool = setting(False, "compile the model first (torch.compile)")
    threads: int | None = setting(None, "CPU threads; without it, as many as torch takes")
    every: int = setting(840, "steps between evaluations, each with a checkpoint")
    average: int = setting(8, "evaluations whose weights are averaged at the end")

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _check_bounds(name, value)
        for name in self.COUNTS:
            check_positive_integer(name, getattr(self, name))
        check_positive_integer("vocab_size", self.vocab_size, minimum=SMALLEST)
        check_positive_integer("seed", self.seed, minimum=0)
        for name in ("patience", "threads"):
            if getattr(self, name) is not None:
                check_positive_integer(name, getattr(self, name))
        for name in ("minutes", "learning_rate", "clip_norm"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_boolean("compile", self.compile)
        check_choice("precision", self.precision, PRECISIONS)

    def as_dict(self) -> dict[str, Any]:
        """All settings, as JSON holds them."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return loaded

    def course(self) -> dict[str, Any]:
        """The settings that decide what is computed: a run goes on with the same ones."""
        return {name: value for name, value in self.as_dict().items() if name not in self.LENIENT}

    def lenient(self) -> dict[str, Any]:
        """The others, but for the folder: where the texts lie, and how far to go."""
        return {name: value for name, value in self.as_dict().items() if name in self.LENIENT and name != "out"}


def _check_bounds(name: str, value: Any) -> None:
    """Raise unless whole numbers are such as libraries take, and names such as JSON can hold."""
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{name} must be less than 2^63, got {in_words(value)}")
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and text != text.encode("utf-8", "ignore").decode("utf-8"):
            raise ValueError(f"{name} must be a name in UTF-8, got {text!r}")

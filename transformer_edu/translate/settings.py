"""Everything that decides a training run, each setting with its default and what it is for."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from transformer_edu.data.tokenizer import SMALLEST
from transformer_edu.saving.size import check_memory, in_words
from transformer_edu.support.validation import (
    check_boolean,
    check_choice,
    check_number,
    check_positive_integer,
    check_probability,
)
from transformer_edu.transformer import TransformerConfig

PRECISIONS, LANGUAGES = ("auto", "float32", "bfloat16", "float64"), ("de", "en")
POSITIONS, ROOM = 512, 50  # what a model has at least; tokens more than its source that an answer may have (the paper)
LARGEST = 2**63 - 1  # a whole number that every library takes
ADAM_BYTES = {"float64": 32}  # a weight, its gradient and two averages; otherwise in float32
LENIENT = ("out", "train", "valid", "data_dir", "steps", "minutes", "patience", "threads", "compile")
"""What may differ when a run goes on. The texts may come from other files: their content is compared."""


def _setting(default: Any, help: str, **more: Any) -> Any:
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True)
class TrainingSettings:
    """A run of `transformer-edu train`; the defaults are those of the shipped German-English model."""

    out: str = _setting("run", "folder for checkpoints, log and the finished model")
    train: tuple[str, ...] = _setting((), "training text: two line-aligned files or one TSV; without it, Multi30k")
    valid: tuple[str, ...] = _setting((), "validation text, in the same form")
    data_dir: str | None = _setting(
        None, "folder of the Multi30k files; without it TRANSFORMER_EDU_DATA, or downloaded"
    )
    source: str = _setting("de", "source language of Multi30k", choices=LANGUAGES)
    target: str = _setting("en", "target language of Multi30k", choices=LANGUAGES)
    vocab_size: int = _setting(6000, "tokens of the vocabulary, both languages together")
    max_length: int = _setting(
        100,
        "longest sentence in tokens; longer training pairs are left out, and counted "
        "(the vocabulary is learnt from pairs with at most so many words)",
    )
    cut_valid: bool = _setting(False, "cut validation lines longer than the model's positions; else they are an error")

    d_model: int = _setting(256, "length of a token's vector")
    num_heads: int = _setting(4, "attention heads")
    d_ff: int = _setting(512, "inner length of the feed-forward part")
    num_layers: int = _setting(3, "layers of the encoder, and of the decoder")
    dropout: float = _setting(0.3, "dropout; three times the paper's, for data 150 times smaller")
    norm: str = _setting("pre", "where the norm stands; the paper has post", choices=("post", "pre"))
    tie_embeddings: str = _setting(
        "all", "which of the embeddings share a matrix with the projection", choices=("none", "target", "all")
    )

    max_tokens: int = _setting(1280, "cells of a batch, padding included, on either side")
    accumulate: int = _setting(1, "compute each batch in this many parts; the result is the same, the memory less")
    steps: int = _setting(20_000, "stop after so many updates")
    minutes: float | None = _setting(None, "stop at the first evaluation after so many minutes")
    patience: int | None = _setting(None, "stop after so many evaluations without a better validation BLEU")
    learning_rate: float = _setting(0.0015, "the highest learning rate, reached at the end of the warm-up")
    warmup_steps: int = _setting(1000, "steps in which the learning rate rises; then it falls with 1/sqrt(step)")
    smoothing: float = _setting(0.1, "label smoothing (the paper's)")
    clip_norm: float = _setting(1.0, "longest gradient")
    seed: int = _setting(0, "decides weights, order of the data and dropout")
    precision: str = _setting(
        "auto", "auto: bfloat16 products where the processor has them, else float32", choices=PRECISIONS
    )
    compile: bool = _setting(False, "compile the model first (torch.compile)")
    threads: int | None = _setting(None, "CPU threads; without it, as many as torch takes")

    every: int = _setting(840, "steps between evaluations, each with a checkpoint")
    average: int = _setting(8, "evaluations whose weights are averaged at the end")

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _check_bounds(name, value)
        for name in ("max_length", "max_tokens", "accumulate", "steps", "warmup_steps", "every", "average"):
            check_positive_integer(name, getattr(self, name))
        check_positive_integer("vocab_size", self.vocab_size, minimum=SMALLEST)
        check_positive_integer("seed", self.seed, minimum=0)
        for name in ("patience", "threads"):
            if getattr(self, name) is not None:
                check_positive_integer(name, getattr(self, name))
        for name in ("minutes", "learning_rate", "clip_norm"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_probability("smoothing", self.smoothing)
        for name in ("compile", "cut_valid"):
            check_boolean(name, getattr(self, name))
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("source", self.source, LANGUAGES)
        check_choice("target", self.target, LANGUAGES)
        self._check_together()
        check_memory(self.model_config(self.vocab_size), ADAM_BYTES.get(self.precision, 16))

    def _check_together(self) -> None:
        """What two settings say of each other."""
        if self.accumulate > self.max_tokens:
            raise ValueError(
                f"accumulate must be at most max_tokens={self.max_tokens}, for no batch has more sentences, "
                f"got {self.accumulate}"
            )
        for name in ("train", "valid"):
            if len(getattr(self, name)) > 2:
                raise ValueError(f"{name} must be two files or one TSV, got {len(getattr(self, name))} files")
        if bool(self.train) != bool(self.valid):
            raise ValueError(f"train and valid must be given together, got train={self.train} and valid={self.valid}")
        if not self.train and self.source == self.target:
            raise ValueError(f"source and target must be two languages, got {self.source!r} for both")

    @property
    def positions(self) -> int:
        """The positions of the model: room for a sentence of max_length, and for a longer answer."""
        return max(POSITIONS, self.max_length + ROOM + 1)  # one for the begin token

    def model_config(self, vocab_size: int) -> TransformerConfig:
        """The model's configuration for a vocabulary that has turned out this large."""
        names = ("d_model", "num_heads", "d_ff", "num_layers", "dropout", "norm", "tie_embeddings")
        shape = {name: getattr(self, name) for name in names}
        return TransformerConfig(vocab_size, vocab_size, max_len=self.positions, **shape)

    def as_dict(self) -> dict[str, Any]:
        """All settings, as JSON holds them."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return loaded

    def course(self) -> dict[str, Any]:
        """The settings that decide what is computed: a run goes on with the same ones."""
        return {name: value for name, value in self.as_dict().items() if name not in LENIENT}

    def lenient(self) -> dict[str, Any]:
        """The others, but for the folder: where the texts lie, and how far to go."""
        return {name: value for name, value in self.as_dict().items() if name in LENIENT and name != "out"}


def _check_bounds(name: str, value: Any) -> None:
    """Raise unless whole numbers are such as libraries take, and names such as JSON can hold."""
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{name} must be less than 2^63, got {in_words(value)}")
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and text != text.encode("utf-8", "ignore").decode("utf-8"):
            raise ValueError(f"{name} must be a name in UTF-8, got {text!r}")

"""Everything that decides a training run, each setting with its default and what it is for."""

import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from transformer_edu.transformer import TransformerConfig
from transformer_edu.validation import check_boolean, check_choice, check_number, check_positive_integer

PRECISIONS = ("auto", "float32", "bfloat16", "float64")


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
    source: str = _setting("de", "source language of Multi30k: de or en")
    target: str = _setting("en", "target language of Multi30k: de or en")
    vocab_size: int = _setting(6000, "subwords of both languages together")
    max_length: int = _setting(100, "longest sentence in subwords; longer training pairs are left out, and counted")

    d_model: int = _setting(256, "length of a token's vector")
    num_heads: int = _setting(4, "attention heads")
    d_ff: int = _setting(512, "inner length of the feed-forward part")
    num_layers: int = _setting(3, "layers of the encoder, and of the decoder")
    dropout: float = _setting(0.3, "dropout; three times the paper's, for data 150 times smaller")
    norm: str = _setting("pre", "where the norm stands: post (the paper) or pre")
    tie_embeddings: str = _setting("all", "one matrix for both embeddings and the projection: none, target or all")

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
    precision: str = _setting("auto", "auto: bfloat16 products where the processor has them, else float32")
    compile: bool = _setting(False, "compile the model first (torch.compile)")
    threads: int | None = _setting(None, "CPU threads; without it, as many as torch takes")

    every: int = _setting(840, "steps between evaluations, each with a checkpoint")
    average: int = _setting(8, "evaluations whose weights are averaged at the end")

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "max_length",
            "max_tokens",
            "accumulate",
            "steps",
            "warmup_steps",
            "every",
            "average",
        ):
            check_positive_integer(name, getattr(self, name))
        for name in ("minutes", "patience", "learning_rate", "clip_norm", "threads"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        check_boolean("compile", self.compile)
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("source", self.source, ("de", "en"))
        check_choice("target", self.target, ("de", "en"))
        for name in ("train", "valid"):
            if len(getattr(self, name)) > 2:
                raise ValueError(f"{name} must be two files or one TSV, got {len(getattr(self, name))} files")
        if bool(self.train) != bool(self.valid):
            raise ValueError(f"train and valid must be given together, got train={self.train} and valid={self.valid}")
        self.model_config(self.vocab_size)  # checks the fields of the model

    def model_config(self, vocab_size: int) -> TransformerConfig:
        """The model's configuration for a vocabulary that has turned out this large."""
        names = ("d_model", "num_heads", "d_ff", "num_layers", "dropout", "norm", "tie_embeddings")
        shape = {name: getattr(self, name) for name in names}
        return TransformerConfig(vocab_size, vocab_size, max_len=MAX_LEN, **shape)

    def as_dict(self) -> dict[str, Any]:
        """All settings, as JSON holds them."""
        loaded: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return loaded


MAX_LEN = 512  # positions: a sentence of max_length, and room to answer with the paper's 50 tokens more
LENIENT = ("out", "steps", "minutes", "patience", "data_dir", "threads", "compile")  # may differ when a run goes on


def different_settings(old: dict[str, Any], new: TrainingSettings) -> list[str]:
    """What keeps a run from being resumed: each setting that changes its course, with both values."""
    now = new.as_dict()
    names = [setting.name for setting in fields(TrainingSettings) if setting.name not in LENIENT]
    return [f"{name}: {old.get(name)!r} then, {now[name]!r} now" for name in names if old.get(name) != now[name]]

"""Everything that decides a training run of a translator, each setting with its default and what it is for."""

from dataclasses import dataclass
from typing import ClassVar

from transformer_edu.config import TransformerConfig
from transformer_edu.runs.settings import ADAM_BYTES, RunSettings, setting
from transformer_edu.saving.size import check_memory
from transformer_edu.support.validation import check_boolean, check_choice, check_probability

LANGUAGES = ("de", "en")
POSITIONS, ROOM = 512, 50  # what a model has at least; tokens more than its source that an answer may have (the paper)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(RunSettings):
    """A run of `transformer-edu train`; the defaults are those of the shipped German-English model."""

    LENIENT: ClassVar[tuple[str, ...]] = (*RunSettings.LENIENT, "data_dir")
    COUNTS: ClassVar[tuple[str, ...]] = ("max_length", "max_tokens", *RunSettings.COUNTS)

    train: tuple[str, ...] = setting((), "training text: two line-aligned files or one TSV; without it, Multi30k")
    valid: tuple[str, ...] = setting((), "validation text, in the same form")
    data_dir: str | None = setting(None, "folder of the Multi30k files; without it TRANSFORMER_EDU_DATA, or downloaded")
    source: str = setting("de", "source language of Multi30k", choices=LANGUAGES)
    target: str = setting("en", "target language of Multi30k", choices=LANGUAGES)
    vocab_size: int = setting(6000, "tokens of the vocabulary, both languages together")
    max_length: int = setting(
        100,
        "longest sentence in tokens; longer training pairs are left out, and counted "
        "(the vocabulary is learnt from pairs with at most so many words)",
    )
    cut_valid: bool = setting(False, "cut validation lines longer than the model's positions; else they are an error")
    num_layers: int = setting(3, "layers of the encoder, and of the decoder")
    dropout: float = setting(0.3, "dropout; three times the paper's, for data 150 times smaller")
    norm: str = setting("pre", "where the norm stands; the paper has post", choices=("post", "pre"))
    tie_embeddings: str = setting(
        "all", "which of the embeddings share a matrix with the projection", choices=("none", "target", "all")
    )
    max_tokens: int = setting(1280, "cells of a batch, padding included, on either side")
    patience: int | None = setting(None, "stop after so many evaluations without a better validation BLEU")
    warmup_steps: int = setting(1000, "steps in which the learning rate rises; then it falls with 1/sqrt(step)")
    smoothing: float = setting(0.1, "label smoothing (the paper's)")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_probability("smoothing", self.smoothing)
        check_boolean("cut_valid", self.cut_valid)
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

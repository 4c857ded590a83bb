"""Everything that decides a training run of a language model, each setting with its default and what it is for."""

from dataclasses import dataclass
from typing import ClassVar

from transformer_edu.models.gpt import GPTConfig
from transformer_edu.runs.settings import RunSettings, setting
from transformer_edu.support.validation import check_number, check_positive_integer


@dataclass(frozen=True, kw_only=True)
class LanguageSettings(RunSettings):
    """A run of `transformer-edu train-lm`; the defaults are those of the shipped model of stories."""

    LENIENT: ClassVar[tuple[str, ...]] = tuple(name for name in RunSettings.LENIENT if name != "steps")
    COUNTS: ClassVar[tuple[str, ...]] = ("context", "batch_size", *RunSettings.COUNTS)

    train: tuple[str, ...] = setting((), "training text, one or more files (.gz too); an empty line ends a text")
    valid: tuple[str, ...] = setting((), "validation text, in the same form")
    vocab_size: int = setting(2048, "tokens of the vocabulary, bytes included: no text is refused")
    context: int = setting(256, "most tokens that the model looks back on, and reads at once in training")
    batch_size: int = setting(8, "rows of so many tokens in a batch")
    d_model: int = setting(160, "length of a token's vector")
    num_heads: int = setting(5, "attention heads")
    d_ff: int = setting(640, "inner length of the feed-forward part")
    num_layers: int = setting(6, "layers")
    dropout: float = setting(0.0, "dropout; a text that is read only a few times is not learnt by heart")
    steps: int = setting(4800, "updates; the learning rate falls to zero with the last")
    learning_rate: float = setting(0.002, "the highest learning rate, reached at the end of the warm-up")
    warmup_steps: int = setting(200, "steps in which the learning rate rises; then it falls in a straight line")
    weight_decay: float = setting(0.1, "how much of each matrix is taken away per step, times the learning rate")
    every: int = setting(500, "steps between evaluations, each with a checkpoint")
    average: int = setting(4, "evaluations whose weights are averaged at the end")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive_integer("warmup_steps", self.warmup_steps)
        check_number("weight_decay", self.weight_decay, above=-1e-9)
        if self.warmup_steps >= self.steps:
            raise ValueError(f"warmup_steps must be below steps={self.steps}, got {self.warmup_steps}")
        if not self.train or not self.valid:
            raise ValueError(f"train and valid must name files of text, got {self.train} and {self.valid}")
        self.model_config(self.vocab_size)  # says which sizes do not fit each other

    def model_config(self, vocab_size: int) -> GPTConfig:
        """The model's configuration for a vocabulary that has turned out this large."""
        names = ("d_model", "num_heads", "d_ff", "num_layers", "dropout")
        shape = {name: getattr(self, name) for name in names}
        return GPTConfig(vocab_size, max_len=self.context, pad_id=0, **shape)

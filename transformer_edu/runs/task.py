"""What a run learns."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.optim import Optimizer

from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.settings import RunSettings


class Task(ABC):
    """What a run learns: the data, the model, its loss and its score. The trainer asks for no more."""

    settings: RunSettings
    tokenizer: Tokenizer
    description: dict[str, Any]  # see `transformer_edu.runs.start.describe`
    score: ClassVar[str]  # which number of an evaluation tells the best weights
    sign: ClassVar[int]  # 1 where more of it is better, -1 where less is

    @abstractmethod
    def new_model(self) -> nn.Module:
        """The untrained model; its weights depend on the seed alone."""

    @abstractmethod
    def optimizer(self, model: nn.Module) -> Optimizer:
        """One of Adam's family, whose state a checkpoint holds."""

    @abstractmethod
    def learning_rate(self, step: int) -> float:
        """That of an update, counted from 1."""

    @abstractmethod
    def batches(self, epoch: int) -> list[list[int]]:
        """The examples of each batch, in the order of an epoch."""

    @abstractmethod
    def tokens(self, examples: list[int]) -> int:
        """Tokens of these examples whose loss counts."""

    @abstractmethod
    def tensors(self, examples: list[int]) -> tuple[Tensor, ...]:
        """What the model reads of these examples, and last the ids (batch, seq) that it should have written."""

    @abstractmethod
    def evaluate(self, model: nn.Module, processes: Processes) -> dict[str, Any]:
        """Numbers of the validation text, `score` among them, the same in every process."""

    @property
    def smoothing(self) -> float:
        """ε of the loss (see `label_smoothing`)."""
        return 0.0

    def is_better(self, found: float, best: float | None) -> bool:
        """Whether a score beats the best so far."""
        return best is None or self.sign * found > self.sign * best

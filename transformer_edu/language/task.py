"""What a run learns from: texts, cut into tokens and laid end to end, with a validation text."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from transformer_edu.data.multi30k import digest
from transformer_edu.data.parallel import read_lines
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.language.model import nats_of
from transformer_edu.language.settings import LanguageSettings
from transformer_edu.models.gpt import GPT, build_gpt
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.start import describe, prepare
from transformer_edu.runs.task import Task
from transformer_edu.saving.registry import count_numbers
from transformer_edu.training.decay import decay_groups

BETAS = (0.9, 0.95)  # AdamW's, as GPT-3's (Brown et al., 2020, appendix B)


@dataclass(frozen=True)
class LanguageTask(Task):
    """The data of a run: each text as ids, without begin and end tokens, and the validation texts as they are."""

    score: ClassVar[str] = "bits_per_byte"
    sign: ClassVar[int] = -1

    settings: LanguageSettings
    tokenizer: Tokenizer
    train: list[list[int]]
    valid: list[str]
    description: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", lru_cache(maxsize=1)(self.rows))  # of the epoch that is being read

    @property
    def rows_in_epoch(self) -> int:
        """Rows of each epoch: the order of the texts changes, their length does not."""
        return (self.held - 1) // self.settings.context

    @cached_property
    def held(self) -> int:
        """Tokens of all texts, each with its begin and end token."""
        return sum(len(text) + 2 for text in self.train)

    def new_model(self) -> GPT:
        """An untrained GPT."""
        return build_gpt(self.settings.model_config(len(self.tokenizer)))

    def optimizer(self, model: nn.Module) -> Optimizer:
        """AdamW; vectors (biases, norms) are not decayed."""
        return AdamW(decay_groups(model, self.settings.weight_decay), lr=0.0, betas=BETAS, fused=True)

    def learning_rate(self, step: int) -> float:
        """Up in a straight line during the warm-up, then down to zero in another."""
        s = self.settings
        up, down = step / s.warmup_steps, (s.steps + 1 - step) / (s.steps + 1 - s.warmup_steps)
        return s.learning_rate * max(0.0, min(up, down))

    def rows(self, epoch: int) -> Tensor:
        """All texts, shuffled by (seed, epoch), laid end to end and cut: ids (rows, context + 1).

        Each row begins with the last id of the row before it, so that every id but the first is a target once. What is
        left at the end is shorter than a row, and is not read in this epoch.
        """
        texts, long = list(self.train), []
        random.Random(f"{self.settings.seed}, {epoch}").shuffle(texts)
        for text in texts:
            long += [self.tokenizer.bos_id, *text, self.tokenizer.eos_id]
        return torch.tensor(long).unfold(0, self.settings.context + 1, self.settings.context)

    def batches(self, epoch: int) -> list[list[int]]:
        """Rows of an epoch in their order, `batch_size` at a time; a row's number counts those of all epochs."""
        rows, size = self.rows_in_epoch, self.settings.batch_size
        order = list(range(rows))
        random.Random(f"{self.settings.seed}, {epoch}, rows").shuffle(order)
        return [[epoch * rows + row for row in order[at : at + size]] for at in range(0, rows - size + 1, size)]

    def tokens(self, examples: list[int]) -> int:
        """Every token of a row but its first."""
        return len(examples) * self.settings.context

    def tensors(self, examples: list[int]) -> tuple[Tensor, ...]:
        """Each row without its last id, and without its first: one step to the left."""
        count = self.rows_in_epoch
        chosen = self.rows(examples[0] // count)[[example % count for example in examples]]  # a batch is of one epoch
        return chosen[:, :-1], chosen[:, 1:]

    def evaluate(self, model: nn.Module, processes: Processes) -> dict[str, Any]:
        """Bits per byte of the validation text, and the loss in nats per token, end tokens counted."""
        mine = processes.share(self.valid)
        nats, tokens = nats_of(model, self.tokenizer, mine, self.settings, processes.device)
        mine_both = torch.tensor([nats.sum().item(), float(sum(tokens))], dtype=torch.float64, device=processes.device)
        both = processes.sum(mine_both).tolist()
        size = sum(len(text.encode()) for text in self.valid)
        return {"bits_per_byte": round(both[0] / math.log(2) / size, 6), "validation_loss": round(both[0] / both[1], 6)}


def read_texts(files: Sequence[str]) -> list[str]:
    """The texts of several files: lines follow each other until an empty one ends a text.

    Raises:
        ValueError: no text in a file, or no UTF-8; with its name.
        OSError: a file cannot be read.
    """
    texts = []
    for name in files:
        found: list[list[str]] = [[]]
        for line in read_lines(name):
            if line.strip():
                found[-1].append(line)
            elif found[-1]:
                found.append([])
        texts += ["\n".join(lines) for lines in found if lines]
        if not any(found):
            raise ValueError(f"{name} must hold text, got empty lines only")
    return texts


def prepare_task(settings: LanguageSettings, processes: Processes, resume: bool = False) -> LanguageTask:
    """Read the texts and cut them, and take the folder for the run (see `prepare`).

    Raises:
        ValueError: too little text, or a folder that holds another run.
        OSError: a file cannot be read, or the folder not be written.
    """
    return prepare(
        settings,
        processes,
        resume,
        read=lambda: {"train": read_texts(settings.train), "valid": read_texts(settings.valid)},
        learn=lambda texts: Tokenizer.train(texts["train"], settings.vocab_size),
        cut=lambda texts, tokenizer: _cut(settings, texts, tokenizer),
        parameters=lambda tokenizer: count_numbers(GPT, settings.model_config(len(tokenizer))),
    )


def _cut(settings: LanguageSettings, texts: dict[str, list[str]], tokenizer: Tokenizer) -> LanguageTask:
    sums = {split: {"texts": len(found), "sha256": digest(found)} for split, found in texts.items()}
    train = tokenizer.encode_batch(texts["train"])
    task = LanguageTask(settings, tokenizer, train, texts["valid"], describe(settings, sums, tokenizer))
    needed = settings.batch_size * settings.context + 1
    if task.held < needed:
        raise ValueError(f"train must hold {needed:,} tokens, those of one batch, got {task.held:,}")
    return task

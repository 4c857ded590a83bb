"""What a run learns from: sentence pairs, cut into tokens, with a validation set."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer_edu.data.batching import make_batch
from transformer_edu.data.multi30k import digest, multi30k_pairs
from transformer_edu.data.parallel import TextPair, read_parallel, read_tsv
from transformer_edu.data.token_budget import epoch_batches
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import IdPair
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.start import describe, prepare
from transformer_edu.runs.task import Task
from transformer_edu.saving.size import parameter_count
from transformer_edu.training.evaluate import lowercase_bleu
from transformer_edu.training.schedule import warmup_schedule
from transformer_edu.transformer import Transformer, build_transformer
from transformer_edu.translate.evaluate import greedy_answers, summed_loss
from transformer_edu.translate.settings import TrainingSettings

NAMED = 5  # lines that an error names; the others it counts


@dataclass(frozen=True)
class TranslationTask(Task):
    """The data of a run; `too_long` counts the training pairs left out for their length."""

    score: ClassVar[str] = "validation_bleu"
    sign: ClassVar[int] = 1

    settings: TrainingSettings
    tokenizer: Tokenizer
    train: list[IdPair]
    valid: list[IdPair]
    references: list[str]
    too_long: int
    description: dict[str, Any]

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """Cells that each training pair needs: its source, and its target with one more for the begin token."""
        return [(len(source), len(target) + 1) for source, target in self.train]

    @property
    def smoothing(self) -> float:
        """ε of the loss."""
        return self.settings.smoothing

    def new_model(self) -> Transformer:
        """An untrained Transformer."""
        return build_transformer(**vars(self.settings.model_config(len(self.tokenizer))))

    def optimizer(self, model: nn.Module) -> Optimizer:
        """Adam as the paper has it."""
        return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def learning_rate(self, step: int) -> float:
        """The paper's schedule, scaled so that its peak is `settings.learning_rate`."""
        d_model, warmup = self.settings.d_model, self.settings.warmup_steps
        peak = warmup_schedule(warmup, d_model, warmup)
        return self.settings.learning_rate / peak * warmup_schedule(step, d_model, warmup)

    def batches(self, epoch: int) -> list[list[int]]:
        """Pairs of like length together, as many as fit into the cells of a batch."""
        return epoch_batches(self.lengths, self.settings.max_tokens, seed=self.settings.seed, epoch=epoch)

    def tokens(self, examples: list[int]) -> int:
        """Target tokens, the end tokens counted."""
        return sum(len(self.train[index][1]) + 1 for index in examples)

    def tensors(self, examples: list[int]) -> tuple[Tensor, ...]:
        """Source, target from its begin token on, target to its end token."""
        batch = make_batch([self.train[index] for index in examples])
        return batch.source, batch.target_in, batch.target_out

    def evaluate(self, model: nn.Module, processes: Processes) -> dict[str, Any]:
        """The unsmoothed loss in nats per target token, and lowercase BLEU of greedy answers."""
        mine = processes.share(self.valid)
        loss = processes.sum(summed_loss(model, mine, self.settings, processes.device)).item()
        tokens = sum(len(target) + 1 for _, target in self.valid)
        sources = [source for source, _ in mine]
        answers = processes.gather(greedy_answers(model, sources, self.settings, processes.device))
        bleu = lowercase_bleu([self.tokenizer.decode(ids) for ids in answers], self.references)
        return {"validation_loss": round(loss / tokens, 6), "validation_bleu": round(bleu, 4)}


def read_pairs(files: Sequence[str]) -> list[TextPair]:
    """(source, target) sentences of two line-aligned files, or of one file with a tab in each line."""
    if len(files) == 1:
        return read_tsv(files[0])
    if len(files) == 2:
        return read_parallel(files[0], files[1])
    raise ValueError(f"files must be two line-aligned files or one TSV, got {len(files)}: {list(files)}")


def read_texts(settings: TrainingSettings, split: str) -> list[TextPair]:
    """The sentence pairs of a split: "train" or "val"."""
    files = settings.train if split == "train" else settings.valid
    if files:
        return read_pairs(files)
    return multi30k_pairs(split, settings.data_dir, source=settings.source, target=settings.target)


def line_name(settings: TrainingSettings, split: str, side: int, index: int) -> str:
    """Where a sentence stands, for messages: "line 3 of my.de". `side`: 0 for the source, 1 for the target."""
    files = settings.train if split == "train" else settings.valid
    languages = settings.source, settings.target
    name = files[min(side, len(files) - 1)] if files else f"{split.removesuffix('id')}.{languages[side]}"
    return f"line {index + 1} of {name}"


def prepare_task(settings: TrainingSettings, processes: Processes, resume: bool = False) -> TranslationTask:
    """Read the pairs and cut them, and take the folder for the run (see `prepare`).

    Raises:
        ValueError: what would end the run later: a line that is too long, a folder that holds another run.
        OSError: a file cannot be read, or the folder not be written.
    """
    return prepare(
        settings,
        processes,
        resume,
        read=lambda: {name: read_texts(settings, split) for name, split in (("train", "train"), ("valid", "val"))},
        learn=lambda texts: _learn(settings, texts["train"]),
        cut=lambda texts, tokenizer: _cut(settings, texts, tokenizer),
        parameters=lambda tokenizer: parameter_count(settings.model_config(len(tokenizer))),
    )


def _learn(settings: TrainingSettings, pairs: Sequence[TextPair]) -> Tokenizer:
    """A tokenizer of the training text alone, less the pairs with more words, so also more tokens, than max_length.

    A pair that is too long in tokens only has been learnt from: it shows itself when they are known.
    """
    short = [pair for pair in pairs if max(len(text.split()) for text in pair) <= settings.max_length]
    _check_some_left(settings, short)
    return Tokenizer.train([text for pair in short for text in pair], settings.vocab_size)


def _cut(settings: TrainingSettings, texts: Mapping[str, Sequence[TextPair]], tokenizer: Tokenizer) -> TranslationTask:
    """The texts as ids: training pairs that are too long left out, everything else as long as model and batch take."""
    pairs = encode_texts(texts["train"], tokenizer)
    kept = [index for index, pair in enumerate(pairs) if max(map(len, pair)) <= settings.max_length]
    _check_some_left(settings, kept)
    longest = max(kept, key=lambda index: _cells(pairs[index]))
    if _cells(pairs[longest]) > settings.max_tokens:
        side = int(len(pairs[longest][1]) + 1 == _cells(pairs[longest]))
        raise ValueError(
            f"max_tokens must be at least {_cells(pairs[longest])}, for so many cells has "
            f"{line_name(settings, 'train', side, longest)}, got {settings.max_tokens}"
        )
    return TranslationTask(
        settings=settings,
        tokenizer=tokenizer,
        train=[pairs[index] for index in kept],
        valid=_fitting(settings, encode_texts(texts["valid"], tokenizer)),
        references=[target for _, target in texts["valid"]],
        too_long=len(pairs) - len(kept),
        description=describe(settings, {split: _checksums(pairs) for split, pairs in texts.items()}, tokenizer),
    )


def _checksums(pairs: Sequence[TextPair]) -> dict[str, Any]:
    sides = {side: digest([pair[number] for pair in pairs]) for number, side in enumerate(("source", "target"))}
    return {"pairs": len(pairs), **{f"{side}_sha256": found for side, found in sides.items()}}


def _check_some_left(settings: TrainingSettings, pairs: Sequence[Any]) -> None:
    if not pairs:
        raise ValueError(f"max_length must leave some training pairs, got {settings.max_length} with none short enough")


def _cells(pair: IdPair) -> int:
    """The width that a pair needs in a batch."""
    return max(len(pair[0]), len(pair[1]) + 1)  # one for the begin token


def _fitting(settings: TrainingSettings, pairs: list[IdPair]) -> list[IdPair]:
    """Validation pairs that fit the model's positions; those that do not are an error, or cut where that is asked."""
    most = settings.positions - 1  # one for the begin token
    long = [(index, side) for index, pair in enumerate(pairs) for side in (0, 1) if len(pair[side]) > most]
    if not long:
        return pairs
    names = [f"{line_name(settings, 'valid', side, index)} has {len(pairs[index][side])}" for index, side in long]
    named = ", ".join(names[:NAMED]) + (f", and {len(names) - NAMED} more lines" if len(names) > NAMED else "")
    if not settings.cut_valid:
        raise ValueError(
            f"validation lines must have at most {most} tokens, the positions of the model, but {named}: "
            f"divide them, raise --max-length, or let them be cut with --cut-valid"
        )
    warnings.warn(f"validation lines are cut to {most} tokens, the positions of the model: {named}", stacklevel=2)
    return [(source[:most], target[:most]) for source, target in pairs]


def encode_texts(pairs: Sequence[TextPair], tokenizer: Tokenizer) -> list[IdPair]:
    """Sentence pairs as id pairs, without begin and end tokens."""
    sources = tokenizer.encode_batch([source for source, _ in pairs])
    targets = tokenizer.encode_batch([target for _, target in pairs])
    return list(zip(sources, targets, strict=True))

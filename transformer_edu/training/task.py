"""What a run learns from: sentence pairs, cut into subwords, with a validation set."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.parallel import TextPair, read_parallel, read_tsv
from transformer_edu.data.subwords import Subwords
from transformer_edu.data.toy import IdPair
from transformer_edu.training.distributed import Team
from transformer_edu.training.settings import TrainingSettings
from transformer_edu.translator import TOKENIZER


@dataclass(frozen=True)
class Task:
    """The data of a run; `too_long` counts the training pairs left out for their length."""

    subwords: Subwords
    train: list[IdPair]
    valid: list[IdPair]
    references: list[str]
    too_long: int

    @property
    def lengths(self) -> list[tuple[int, int]]:
        """Cells that each training pair needs: its source, and its target with one more for the begin token."""
        return [(len(source), len(target) + 1) for source, target in self.train]


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


def prepare_task(settings: TrainingSettings, team: Team) -> Task:
    """Read the text and cut it. The first process learns the subwords, from the training text alone."""
    train, valid = read_texts(settings, "train"), read_texts(settings, "val")
    path = Path(settings.out) / TOKENIZER
    if team.leads and not path.exists():
        Subwords.train([text for pair in train for text in pair], settings.vocab_size).save(path)
    team.wait()
    subwords = Subwords.load(path)
    pairs = encode_texts(train, subwords)
    kept = [pair for pair in pairs if max(map(len, pair)) <= settings.max_length]
    if not kept:
        raise ValueError(f"max_length must leave some training pairs, got {settings.max_length} with none short enough")
    references = [target for _, target in valid]
    return Task(subwords, kept, encode_texts(valid, subwords), references, len(pairs) - len(kept))


def encode_texts(pairs: Sequence[TextPair], subwords: Subwords) -> list[IdPair]:
    """Sentence pairs as id pairs, without begin and end tokens."""
    sources = subwords.encode_all([source for source, _ in pairs])
    targets = subwords.encode_all([target for _, target in pairs])
    return list(zip(sources, targets, strict=True))

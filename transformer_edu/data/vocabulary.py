"""Words to ids and back: a word-level vocabulary that fits on one page."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from transformer_edu.support.files import write_atomically

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIALS = (PAD, BOS, EOS, UNK)
PAD_ID, BOS_ID, EOS_ID, UNK_ID = range(4)

IdPair = tuple[list[int], list[int]]  # (source ids, target ids), without begin and end tokens


class Vocabulary:
    """A list of words; a word's id is its place in the list. The four special tokens come first.

    >>> vocabulary = Vocabulary(["black", "cat"])
    >>> vocabulary.encode("black cat", add_eos=True)
    [4, 5, 2]
    >>> vocabulary.decode([1, 4, 5, 2])
    'black cat'
    """

    pad_id, bos_id, eos_id, unk_id = PAD_ID, BOS_ID, EOS_ID, UNK_ID

    def __init__(self, words: Iterable[str]) -> None:
        """`words`: the ordinary words in id order, without the special tokens; each at most once."""
        if isinstance(words, str):
            raise TypeError(f"words must be a list of words, got one string: {words!r}")
        self.words: tuple[str, ...] = (*SPECIALS, *words)
        for word in self.words:
            if not isinstance(word, str) or word.split() != [word]:
                raise ValueError(f"words must be strings without spaces, got {word!r}")
        self._ids = {word: index for index, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            repeated = [word for word, count in Counter(self.words).items() if count > 1]
            raise ValueError(f"words must be different from each other and from {SPECIALS}, got twice: {repeated}")

    @classmethod
    def from_sentences(cls, sentences: Iterable[str]) -> "Vocabulary":
        """The words of `sentences`, sorted, so that their order in the text does not matter."""
        if isinstance(sentences, str):
            raise TypeError(f"sentences must be a list of sentences, got one string: {sentences!r}")
        return cls(sorted({word for sentence in sentences for word in sentence.split()}))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words)"

    def encode(self, text: str | Sequence[str], add_bos: bool = False, add_eos: bool = False) -> list[int]:
        """The ids of a sentence (split at white space) or of a list of words; an unknown word becomes `<unk>`."""
        words = text.split() if isinstance(text, str) else text
        ids = [self._ids.get(word, UNK_ID) for word in words]
        return [BOS_ID] * add_bos + ids + [EOS_ID] * add_eos

    def decode(self, ids: Iterable[int]) -> str:
        """The sentence that `ids` spell: stops at the first `<eos>`, leaves out `<bos>` and `<pad>`."""
        words = []
        for index in ids:
            word = self.word(int(index))
            if word == EOS:
                break
            if word not in (BOS, PAD):
                words.append(word)
        return " ".join(words)

    def word(self, index: int) -> str:
        """The word with this id, special tokens included."""
        if not 0 <= index < len(self.words):
            raise ValueError(f"id must be in 0 .. {len(self.words) - 1}, got {index}")
        return self.words[index]

    def unknown_words(self, text: str) -> list[str]:
        """The words of `text` that this vocabulary does not know, in order."""
        return [word for word in text.split() if word not in self._ids]

    def save(self, path: str | Path) -> None:
        """Write the words as JSON. A crash on the way leaves the old file, or none, never half a one."""
        text = json.dumps(
            {"format": "transformer_edu.Vocabulary", "words": self.words[len(SPECIALS) :]}, indent=0, ensure_ascii=False
        )
        write_atomically(path, (text + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read what `save` wrote; a damaged file raises ValueError that names it."""
        try:
            return cls(json.loads(Path(path).read_text(encoding="utf-8"))["words"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"path must name a saved vocabulary, but {path} cannot be read as one: {error}") from error

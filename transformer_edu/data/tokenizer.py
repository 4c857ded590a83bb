"""A tokenizer for real text: byte-pair encoding with the tokenizers library, one vocabulary for both languages.

Bytes are the smallest pieces, so every text can be cut and every text comes back exactly as it was, spaces included.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID
from transformer_edu.support.files import write_atomically
from transformer_edu.support.validation import check_positive_integer

SMALLEST = len(SPECIALS) + 256  # the special tokens and one piece for each byte
LONGEST_WORD = 1_000  # bytes; learning takes the square of a word's length, and what is longer is no word


class Tokenizer:
    """Text to ids and back. The special tokens have the ids of `Vocabulary`; text never becomes one of them.

    >>> tokenizer = Tokenizer.train(["the cat", "the small cat"] * 2, vocab_size=300)
    >>> tokenizer.tokens("the cats")
    ['·the', '·cat', 's']
    >>> tokenizer.decode(tokenizer.encode("  any text <eos> ☃ "))
    '  any text <eos> ☃ '
    """

    pad_id, bos_id, eos_id, unk_id = PAD_ID, BOS_ID, EOS_ID, UNK_ID

    def __init__(self, tokenizer: Any) -> None:
        """`tokenizer`: a `tokenizers.Tokenizer` made by `train` or `load`."""
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True  # "<eos>" in a text is five characters, not the end

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int) -> "Tokenizer":
        """Learn the merges from `texts`: training text only, or the score on the test text would be flattered.

        Nothing is learnt from a word (or a row of digits, signs or spaces) of more than 1,000 bytes.

        Args:
            texts: sentences of both languages.
            vocab_size: special tokens (4) and bytes (256) included; fewer are learnt where the text has no more.
        """
        from tokenizers import pre_tokenizers, trainers  # here, so that importing the package stays light

        check_positive_integer("vocab_size", vocab_size, minimum=SMALLEST)
        if isinstance(texts, str):
            raise TypeError(f"texts must be a list of sentences, got one string: {texts[:80]!r}")
        texts = list(texts)
        sizes = [_size(text) for text in texts]
        if not any(sizes):
            raise ValueError("texts must hold at least one sentence that is not empty, got none")
        tokenizer = _untrained()
        words = tokenizer.pre_tokenizer
        if max(sizes) > LONGEST_WORD:
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, _no_long_words()])
        trainer = trainers.BpeTrainer(
            vocab_size=min(vocab_size, SMALLEST + sum(sizes)),  # the library makes room for all of them at once
            special_tokens=list(SPECIALS),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        tokenizer.pre_tokenizer = words
        return cls(tokenizer)

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.to_str() == other.to_str()

    def __hash__(self) -> int:
        return hash(self.to_str())

    def __repr__(self) -> str:
        return f"Tokenizer({len(self)} tokens)"

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without begin and end tokens."""
        _size(text)
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on all cores."""
        for text in texts:
            _size(text)
        return [list(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that `ids` spell: stops at the first `<eos>`, leaves out the other special tokens.

        Bytes that are no UTF-8 (a model may write half a character) become U+FFFD.
        """
        kept = []
        for index in ids:
            self._check(int(index))
            if index == EOS_ID:
                break
            kept.append(int(index))
        return str(self._tokenizer.decode(kept, skip_special_tokens=True))

    def id_to_token(self, index: int) -> str:
        """One token as people read it: `·` is a space; a byte that is no character of its own stays as `<0xE2>`."""
        self._check(index)
        if index < len(SPECIALS):
            return SPECIALS[index]
        raw = _bytes(self._tokenizer.id_to_token(index))
        try:
            return raw.decode().replace(" ", "·")
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in raw)

    def tokens(self, text: str) -> list[str]:
        """A text cut into its tokens."""
        return [self.id_to_token(index) for index in self.encode(text)]

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self):
            raise ValueError(f"id must be in 0 .. {len(self) - 1}, got {index}")

    def to_str(self) -> str:
        """Everything about it, in the tokenizers library's own format."""
        return str(self._tokenizer.to_str())

    @classmethod
    def from_str(cls, text: str) -> "Tokenizer":
        """What `to_str` gave; anything else raises ValueError."""
        import tokenizers

        try:
            found = cls(tokenizers.Tokenizer.from_str(text))
        except Exception as error:  # the library raises plain Exception
            raise ValueError(f"text must be a saved tokenizer, but it cannot be read as one: {error}") from error
        if [found._tokenizer.token_to_id(token) for token in SPECIALS] != list(range(len(SPECIALS))):
            raise ValueError(f"text must be a tokenizer whose first four tokens are {SPECIALS}")
        return found

    def save(self, path: str | Path) -> None:
        """Write `to_str` to a file, whole or not at all."""
        write_atomically(path, (self.to_str() + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read what `save` wrote; a damaged file raises ValueError that names it."""
        try:
            return cls.from_str(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"path must name a saved tokenizer, but {path} is damaged: {error}") from error


def _untrained() -> Any:
    """A tokenizer that puts one space before every text, so that the first word is cut like any other."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers

    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Prepend(" ")
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def _size(text: str) -> int:
    """The bytes of a text; ValueError for half a character, such as bytes that are no UTF-8 turn into."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}: {text!r}"[:300])
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise ValueError(
            f"text must be made of whole characters, got {text[error.start]!r} at place {error.start}: {text[:80]!r}"
        ) from error


def _no_long_words() -> Any:
    """Takes words that are too long away; each character is a byte here."""
    from tokenizers import Regex, pre_tokenizers

    return pre_tokenizers.Split(Regex(f".{{{LONGEST_WORD + 1},}}"), "removed")


def _bytes(piece: str) -> bytes:
    """The bytes behind a piece: the library writes each byte as one printable character (as GPT-2 does)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}
    return bytes(table[character] for character in piece)

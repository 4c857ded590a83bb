"""What a figure needs in which a reader types a sentence: its model, the words of the model, the sentence at first."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
import traitlets

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.engine.shipped import GRAMMAR
from transformer_edu.book.figures.fields import argument, field, made
from transformer_edu.book.figures.inputs import check_sentence
from transformer_edu.book.figures.model_figure import ModelFigure, file_of
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.data.lexicon import ADJECTIVES, DETERMINERS, NOUNS, VERBS
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, SPECIALS, Vocabulary
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.support.shapes import Int, Tensor
from transformer_edu.transformer import Transformer

MOST = 12  # words of a sentence that a figure draws


@dataclass(frozen=True)
class Opening:
    """What a figure opens with.

    Args:
        content, name: the file of the model, as `file_of` gives it.
        model: as the page computes with it.
        vocabularies: of source and target.
        words: the sentence.
        line: what js/core/sentence.js needs: `kinds` of words, and how many at `most`.
    """

    content: bytes
    name: str
    model: Transformer
    vocabularies: tuple[Vocabulary, Vocabulary]
    words: list[str]
    line: dict[str, Any]

    @property
    def sentence(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)


def opening(
    sentence: str,
    model: Transformer | None = None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    most: int = MOST,
) -> Opening:
    """A sentence of at most `most` words, for the shipped grammar model or for one's own with its vocabularies.

    Raises:
        TypeError, ValueError: the sentence has an unknown word, is empty or too long; model and vocabularies do not
            belong together, or are a model of pieces of words.
    """
    content, name = file_of(GRAMMAR, model, vocabularies)
    rounded, words_of = read_page_file(content)  # what the page computes with
    if isinstance(words_of, Tokenizer):
        raise TypeError("vocabularies must be two vocabularies of words, got a Tokenizer")
    plain = sentence.lower().strip().removesuffix(".") if isinstance(sentence, str) else sentence
    words = check_sentence("sentence", plain, words_of[0], most)
    return Opening(content, name, rounded, words_of, words, {"kinds": kinds_of(words_of[0]), "most": most})


class SentenceFigure(ModelFigure):
    """A model's figure with a line to type a sentence in: its first field is a `sentence_field` (sets `so.opened`).

    Args:
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.
    """

    model = argument()
    vocabularies = argument()
    line = made(traitlets.Dict(), lambda so: so.opened.line)


def sentence_field(default: str = RUNNING_SENTENCE, most: int = MOST) -> Any:
    """At most so many words that the model knows."""

    def opened(_: str, sentence: Any, so: SimpleNamespace) -> str:
        so.opened = opening(sentence, so.model, so.vocabularies, most)
        so.content, so.name = so.opened.content, so.opened.name
        return so.opened.sentence

    return field(traitlets.Unicode(), default, opened)


def translate(
    model: Transformer, vocabularies: tuple[Vocabulary, Vocabulary], words: Sequence[str], most: int | None = None
) -> tuple[Int[Tensor, "1 src"], Int[Tensor, "1 tgt"]]:
    """A sentence as ids, and its greedy translation from the begin token on; of that at most so many words, if given.

    `engine.translate` does the same in the page.
    """
    source = torch.tensor([vocabularies[0].encode(list(words))])
    ids = greedy_search(model, source, BOS_ID, EOS_ID)
    return source, ids if most is None else ids[:, : most + 1]


def kinds_of(vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The vocabulary's words, those that can take each other's place together: for the offers beside the line."""
    kinds = {
        "determiner": list(dict.fromkeys(form for row in DETERMINERS for form in (row.singular, row.plural) if form)),
        "adjective": [adjective.english for adjective in ADJECTIVES],
        "noun": [noun.singular for noun in NOUNS],
        "nouns": [noun.plural for noun in NOUNS],
        "verb": [verb.third for verb in VERBS],
        "verbs": [verb.base for verb in VERBS],
        "negation": ["does", "do", "not"],
    }
    words = vocabulary.words[len(SPECIALS) :]
    if sorted(word for kind in kinds.values() for word in kind) == sorted(words):
        return kinds
    return {"word": list(words)}

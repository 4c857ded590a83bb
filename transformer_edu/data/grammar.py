"""The English-French grammar of the book: sentences made by rule, each with its one right translation.

    sentence    = phrase verb | phrase verb phrase            the cow sees a red hat
                | phrase do/does not verb [phrase]            the small black cat does not sleep
    phrase      = determiner [adjective] [adjective] noun

English word order is fixed. French puts *petit, grand, joli, beau, bon* before the noun and colours after it,
bends determiners and adjectives to the noun's gender and number and the verb to the subject's number, and wraps
a negated verb in *ne ... pas*. A negated verb never takes an object with *a*: French would need *pas de*.
The words are in `lexicon.py`; which sentences are for training and which are held out is in `corpus.py`.
"""

from dataclasses import dataclass

from transformer_edu.data.lexicon import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Adjective, Determiner, Noun, Verb

Pair = tuple[str, str]  # (English sentence, French sentence)
Word = tuple[str, str]  # (word, role), such as ("black", "subject.after")


@dataclass(frozen=True)
class NounPhrase:
    """A determiner, a noun, at most one adjective of each kind, and a number."""

    determiner: Determiner
    noun: Noun
    plural: bool = False
    before: Adjective | None = None
    after: Adjective | None = None

    def __post_init__(self) -> None:
        if self.plural and self.determiner.plural is None:
            raise ValueError(f"plural must be False with the determiner {self.determiner.singular!r}, got True")

    def english(self, role: str) -> list[Word]:
        """The English words, each with its role in the sentence."""
        determiner = self.determiner.plural if self.plural else self.determiner.singular
        words = [(determiner or "", f"{role}.determiner")]
        words += [(self.before.english, f"{role}.before")] if self.before else []
        words += [(self.after.english, f"{role}.after")] if self.after else []
        return [*words, (self.noun.plural if self.plural else self.noun.singular, f"{role}.noun")]

    def french(self, role: str) -> list[Word]:
        """The French words: an adjective of the second kind moves behind the noun, and all agree with it."""
        words = [(self._french_determiner(), f"{role}.determiner")]
        words += [(self._agree(self.before), f"{role}.before")] if self.before else []
        words += [(self.noun.french_plural if self.plural else self.noun.french_singular, f"{role}.noun")]
        return words + ([(self._agree(self.after), f"{role}.after")] if self.after else [])

    def _french_determiner(self) -> str:
        if self.plural:
            return self.determiner.les or ""
        return self.determiner.la if self.noun.feminine else self.determiner.le

    def _agree(self, adjective: Adjective) -> str:
        if self.noun.feminine:
            return adjective.feminine_plural if self.plural else adjective.feminine
        return adjective.masculine_plural if self.plural else adjective.masculine

    @property
    def combination(self) -> tuple[str, str, str] | None:
        """(adjective before, noun, adjective after) in the English singular, or None with fewer than two adjectives."""
        return (self.before.english, self.noun.singular, self.after.english) if self.before and self.after else None


@dataclass(frozen=True)
class Sentence:
    """A subject, a verb, perhaps negated, and an object if the verb takes one."""

    subject: NounPhrase
    verb: Verb
    negated: bool = False
    object: NounPhrase | None = None

    def __post_init__(self) -> None:
        if self.verb.transitive != (self.object is not None):
            raise ValueError(
                f"object must be given exactly with a transitive verb, got {self.object!r} with {self.verb.base!r}"
            )
        if self.negated and self.object is not None and self.object.determiner.singular == "a":
            raise ValueError("object must not begin with 'a' after a negated verb: this grammar has no 'pas de'")

    def english(self) -> list[Word]:
        """The English words with their roles."""
        third = self.verb.base if self.subject.plural else self.verb.third
        negated = [("do" if self.subject.plural else "does", "verb"), ("not", "negation"), (self.verb.base, "verb")]
        verb = negated if self.negated else [(third, "verb")]
        return self.subject.english("subject") + verb + (self.object.english("object") if self.object else [])

    def french(self) -> list[Word]:
        """The French words with their roles."""
        verb = [(self.verb.french_plural if self.subject.plural else self.verb.french_singular, "verb")]
        verb = [("ne", "negation"), *verb, ("pas", "negation")] if self.negated else verb
        return self.subject.french("subject") + verb + (self.object.french("object") if self.object else [])

    def pair(self) -> Pair:
        """(English, French) as text."""
        return _text(self.english()), _text(self.french())


def _text(words: list[Word]) -> str:
    return " ".join(word for word, _ in words)


class _Reader:
    """Reads an English sentence from left to right, one word ahead."""

    def __init__(self, sentence: str) -> None:
        self.sentence, self.words = sentence, sentence.split()

    def peek(self) -> str:
        return self.words[0] if self.words else ""

    def take(self, *expected: str) -> bool:
        """Step over the next word if it is one of `expected`."""
        found = self.peek() in expected and bool(self.words)
        self.words = self.words[found:]
        return found

    def fail(self, expected: str) -> ValueError:
        found = repr(self.peek()) if self.words else "the end of the sentence"
        return ValueError(
            f"english must be a sentence of the grammar: expected {expected}, got {found} in {self.sentence!r}"
        )

    def adjective(self, before_noun: bool) -> Adjective | None:
        return next((a for a in ADJECTIVES if a.before_noun == before_noun and self.take(a.english)), None)

    def phrase(self) -> NounPhrase:
        determiner = next((d for d in DETERMINERS if self.peek() in (d.singular, d.plural)), None)
        if determiner is None:
            raise self.fail("a determiner")
        word, self.words = self.words[0], self.words[1:]
        before, after = self.adjective(True), self.adjective(False)
        noun = next((n for n in NOUNS if self.peek() in (n.singular, n.plural)), None)
        if noun is None:
            raise self.fail("a noun")
        plural = self.peek() == noun.plural
        if word != (determiner.plural if plural else determiner.singular):
            raise self.fail(f"a {'singular' if plural else 'plural'} noun after {word!r}")
        self.words = self.words[1:]
        return NounPhrase(determiner, noun, plural, before, after)

    def verb(self, subject_plural: bool) -> tuple[Verb, bool]:
        negated = self.take("do" if subject_plural else "does")
        if negated and not self.take("not"):
            raise self.fail("'not'")
        base = negated or subject_plural
        verb = next((v for v in VERBS if self.take(v.base if base else v.third)), None)
        if verb is None:
            raise self.fail(f"a verb in the {'base form' if base else 'third person singular'}")
        return verb, negated


def parse(english: str) -> Sentence:
    """The structure of an English sentence of the grammar; ValueError says which word does not fit, and why."""
    reader = _Reader(english)
    subject = reader.phrase()
    verb, negated = reader.verb(subject.plural)
    sentence = Sentence(subject, verb, negated, reader.phrase() if verb.transitive else None)
    if reader.words:
        raise reader.fail("the end of the sentence")
    return sentence


def translate(english: str) -> str:
    """The right French for an English sentence of the grammar, by rule: what the model has to learn.

    >>> translate("the small black cat does not sleep")
    'le petit chat noir ne dort pas'
    """
    return parse(english).pair()[1]


def align(english: str) -> list[tuple[int, int]]:
    """Which English word stands behind which French word: pairs (English position, French position).

    Both *ne* and *pas* stand for *not*; *does sleep* stands behind *dort*.

    >>> align("a red hen does not sleep")      # une poule rouge ne dort pas
    [(0, 0), (1, 2), (2, 1), (3, 4), (4, 3), (4, 5), (5, 4)]
    """
    sentence = parse(english)
    roles = [role for _, role in sentence.french()]
    return [(i, j) for i, (_, role) in enumerate(sentence.english()) for j, other in enumerate(roles) if role == other]

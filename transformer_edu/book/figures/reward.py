"""What a reward makes of a language of six words: each sentence as probable as before, times e to its reward over β."""

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import traitlets

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, field, made
from transformer_edu.book.figures.search_tree import HAND_LANGUAGE
from transformer_edu.support.validation import check_choice

REWARDS = ("dog", "black dog", "sleeps", "each word")
BETAS = tuple(2.0**power for power in range(-4, 4))
LONGEST = 8  # tokens after the begin token


def sentences(prefix: tuple[str, ...] = ("<bos>",), probability: float = 1.0) -> Iterator[tuple[str, float]]:
    """Every sentence of the language, and how probable it is."""
    if prefix[-1] == "<eos>":
        yield " ".join(prefix[1:-1]), probability
    elif len(prefix) <= LONGEST:
        ending = next(prefix[start:] for start in range(len(prefix)) if prefix[start:] in HAND_LANGUAGE)
        for word, following in HAND_LANGUAGE[ending].items():
            yield from sentences((*prefix, word), probability * following)


def points(sentence: str, reward: str) -> int:
    """One for a sentence that says what is rewarded, or one for each of its words."""
    return len(sentence.split()) if reward == "each word" else int(reward in sentence)


def tilted(reward: str, beta: float) -> list[float]:
    """The distribution with the largest mean reward, less β times its distance in nats from the language as it was."""
    weights = [probability * math.exp(points(one, reward) / beta) for one, probability in sentences()]
    return [weight / sum(weights) for weight in weights]


def _check_beta(name: str, beta: Any, _: SimpleNamespace) -> float:
    check_choice(name, beta, BETAS)
    return float(beta)


class Reward(Figure):
    """The sentences of the six words before and after a reward, for a price of moving away from the language.

    Args:
        reward: "dog", "black dog", "sleeps" or "each word".
        beta: the price, a power of two from 1/16 to 8; a low one lets the reward have its way.
    """

    figure_name: ClassVar[str] = "reward"

    reward = choice("dog", REWARDS)
    beta = field(traitlets.Float(), 1.0, _check_beta)
    language = made(traitlets.List(), lambda so: [[one, round(p, 6)] for one, p in sentences()])

    def alt_text(self) -> str:
        """Rewards before and after, and the likeliest sentence."""
        before, after = [probability for _, probability in self.language], tilted(self.reward, self.beta)
        texts: list[Any] = [text for text, _ in self.language]
        mean = [sum(p * points(text, self.reward) for text, p in zip(texts, ps, strict=True)) for ps in (before, after)]
        likeliest = max(zip(after, texts, strict=True))
        return (
            f"Bars of the sentences of six words before and after “{self.reward}” is rewarded, at β = {self.beta:g}: "
            f"the mean reward goes from {mean[0]:.2f} to {mean[1]:.2f}, and the likeliest sentence is "
            f"“{likeliest[1]}” with {likeliest[0]:.2f}."
        )

"""Drawing the next word: which words a cut keeps, and how often each sentence is drawn."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from transformer_edu.book.plots.inputs import as_mapping
from transformer_edu.book.plots.style import COLOURS, QUIET, TYPE_SIZE, WASHES, WIDTH, book_style, number
from transformer_edu.support.validation import check_number

Probabilities = Mapping[str, float | int]


@book_style
def plot_truncation(distributions: Mapping[str, Probabilities], kept: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Truncation sampling: the next words sorted by probability, and a line behind the last one that a cut keeps.

    Args:
        distributions: place -> the next words there, each with its probability; a column of the picture each.
        kept: name of a cut -> place -> the words that it keeps there; a row of the picture each.
    """
    for place, words in as_mapping("distributions", distributions).items():
        check_probabilities(f"distributions[{place!r}]", words)
    as_mapping("kept", kept)
    figure, grid = plt.subplots(
        *(len(kept), len(distributions)), figsize=(WIDTH, 2.4 * len(kept)), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for row, (cut, survivors) in zip(grid, kept.items(), strict=True):
        for axes, (place, words) in zip(row, distributions.items(), strict=True):
            draw_cut(axes, words, set(survivors[place]))
            axes.set_title(f"{place}: {cut}")
        row[0].set_ylabel("probability")
    return figure


def draw_cut(axes: Axes, words: Probabilities, kept: set[str]) -> None:
    """Bars with their numbers, hatched where nothing is kept, and the sum of what is."""
    ordered = sorted(words, key=lambda word: -words[word])
    for place, word in enumerate(ordered):
        hatched: dict[str, Any] = {"color": "white", "edgecolor": QUIET, "hatch": "///"}
        axes.bar(place, words[word], width=0.7, **({"color": COLOURS[0]} if word in kept else hatched))
        axes.text(place, words[word] + 0.03, number(words[word]), ha="center")
    line = len(kept) - 0.5
    axes.axvline(line, color=COLOURS[1], linestyle="--")
    total = f"kept: {number(sum(words[word] for word in kept))}"
    axes.text(line - 0.06, 1.12, total, ha="right", color=COLOURS[1])
    axes.set_xticks(range(len(ordered)), ordered)
    axes.set(xlim=(-0.75, len(ordered) - 0.25), ylim=(0, 1.28), yticks=(0, 0.5, 1))


@book_style
def plot_draws(exact: Mapping[str, Probabilities], drawn: Mapping[str, Probabilities], sentences: list[str]) -> Figure:
    """Sampled sentences: bars for how probable each is, dots for how often it came, and "never" where it cannot come.

    Args:
        exact: way of drawing -> sentence -> its probability; a sentence left out can never be drawn. A panel each.
        drawn: the same ways -> sentence -> its share of the draws, 0 to 1; left out: 0.
        sentences: the rows, first on top.
    """
    for way, shares in as_mapping("exact", exact).items():
        check_probabilities(f"exact[{way!r}]", shares)
        check_probabilities(f"drawn[{way!r}]", drawn[way])
    size = (WIDTH, 0.32 * len(sentences) + 0.9)
    figure, panels = plt.subplots(1, len(exact), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axes, (way, shares) in zip(panels[0], exact.items(), strict=True):
        axes.barh(sentences, [100 * shares.get(sentence, 0) for sentence in sentences], color=WASHES["attention"],
                  edgecolor=COLOURS[0])  # fmt: skip
        axes.plot([100 * drawn[way].get(sentence, 0) for sentence in sentences], sentences, "o", color=COLOURS[1])
        for sentence in sentences:
            if sentence not in shares:
                axes.text(2.5, sentence, "never", va="center", fontsize=TYPE_SIZE - 1)
        axes.set(title=way, xlim=(-1, 26), xlabel="per cent")
        axes.tick_params(axis="y", length=0)
    panels[0][0].invert_yaxis()
    return figure


def check_probabilities(name: str, words: Any) -> None:
    """Names with a probability from 0 to 1 each."""
    for word, probability in as_mapping(name, words).items():
        check_number(f"{name}[{word!r}]", probability, above=-1e-9)
        if probability > 1 + 1e-6:
            raise ValueError(f"{name}[{word!r}] must be a probability, at most 1, got {probability}")

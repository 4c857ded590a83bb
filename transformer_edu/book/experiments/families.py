"""One layer, three masks, four families: GPT, BERT and T5 learn from the same sentences, ViT from patches (chapter 18).

Sizes, steps, optimizer and text are the same; only the mask, the inputs and the targets differ (`families_examples`).
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu import fast
from transformer_edu.book.experiments.families_examples import (
    GAP_IDS,
    MASK_ID,
    PATCH,
    SIDE,
    UNSEEN,
    UNTRAINED,
    VOCABULARY,
    Example,
    either_number,
    gaps_filled,
    grammar_log_probability,
    hidden_words,
    is_sentence,
    next_words,
    place_of,
    random_gaps,
    two_dots,
    words_of,
)
from transformer_edu.data import BOS_ID, EOS_ID, PAD_ID, pad_sequences
from transformer_edu.data.corpus import ANIMALS, sentences
from transformer_edu.data.lexicon import VERBS
from transformer_edu.decoding.continuation import continue_text
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.models import BERT, GPT, T5, BERTConfig, GPTConfig, T5Config, ViT, ViTConfig
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Float, Tensor
from transformer_edu.support.validation import check_positive_integer

BATCH_SIZE = 64
RATE = 0.006
STEPS = 400
LONGEST = 16  # tokens; the grammar's longest sentence has 11 words
SIZES: dict[str, Any] = {"d_model": 64, "num_heads": 4, "d_ff": 128, "num_layers": 2, "dropout": 0.0}
TEXT: dict[str, Any] = {"vocab_size": len(VOCABULARY), "max_len": LONGEST, "pad_id": PAD_ID, **SIZES}
ROLES = {"noun": "subject.noun", "verb": "verb"}
FORMS = {  # of each role: for one, for many
    "noun": ([noun.singular for noun in ANIMALS], [noun.plural for noun in ANIMALS]),
    "verb": (["does", *(verb.third for verb in VERBS)], ["do", *(verb.base for verb in VERBS)]),
}


@dataclass(frozen=True)
class Trained:
    """A model, the loss of each step in nats per trained place, and what was measured on unseen examples."""

    model: nn.Module
    losses: list[float]
    measured: dict[str, float]


def _rows(seed: int) -> Iterator[list[list[int]]]:
    stream = sentences(seed, "all")
    while True:
        yield [words_of(sentence) for sentence in islice(stream, BATCH_SIZE)]


def _fit(model: nn.Module, examples: Iterable[Example], steps: int) -> list[float]:
    """Adam with a short warmup and a linear way down; the loss is the cross-entropy of the trained places."""
    check_positive_integer("steps", steps)
    fast.switch_on(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    way = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: min((done + 1) / 50, 1 - done / steps))
    losses = []
    for inputs, targets in islice(examples, steps):
        logits = model(*inputs)
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=UNTRAINED)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        way.step()
        losses.append(loss.item())
    return losses


def train_gpt(seed: int = 0, steps: int = STEPS) -> Trained:
    """Half a Transformer that writes: the causal mask, and every place trained on its next word.

    Measured: `loss` beside `floor`, that of the grammar's own probabilities, in nats per token; of 500 sentences that
    it writes, the share that the grammar accepts (`accepted`) and that training has not shown (`new`); `noun` and
    `verb`, see `number_right`; `whole`: how often a sentence is more probable than with its noun in the other number.
    """
    with seeded(seed):
        model = GPT(GPTConfig(**TEXT))
        losses = _fit(model, map(next_words, _rows(seed)), steps)
        written = write(model, 500)
    shown = {VOCABULARY.decode(row) for rows in islice(_rows(seed), steps) for row in rows}
    text = list(islice(sentences(UNSEEN, "all"), 1000))
    tokens = sum(len(words_of(sentence)) + 1 for sentence in text)
    return Trained(model, losses, {
        "loss": -float(log_probability(model, [words_of(sentence) for sentence in text]).sum()) / tokens,
        "floor": -sum(map(grammar_log_probability, text)) / tokens,
        "accepted": sum(map(is_sentence, written)) / len(written),
        "new": sum(sentence not in shown for sentence in written) / len(written),
        "whole": _whole_right(model),
        **{role: number_right(model, role) for role in FORMS},
    })  # fmt: skip


def train_bert(seed: int = 0, steps: int = STEPS) -> Trained:
    """Half a Transformer that reads: no mask but padding's, and hidden words trained. Measured: see `number_right`."""
    with seeded(seed):
        model = BERT(BERTConfig(**TEXT))
        losses = _fit(model, map(hidden_words, _rows(seed)), steps)
    return Trained(model, losses, {role: number_right(model, role) for role in FORMS})


def train_t5(seed: int = 0, steps: int = 300) -> Trained:
    """Both halves: the sentence with gaps is read, what stood in them is written.

    Measured on 300 sentences: `accepted`, how often the grammar accepts what comes of filling random gaps; `same`, how
    often that is what stood there (most gaps leave a choice); `decided`, the same where "do not" or "does not" was
    taken out, which the words on both sides decide.
    """
    rng = random.Random(seed)
    with seeded(seed):
        model = T5(T5Config(divided=False, **TEXT))
        nn.init.normal_(model.embedding.weight, std=0.1)  # torch's own, ten times as large, learns slower
        examples = (gaps_filled(rows, [random_gaps(len(row), rng) for row in rows]) for rows in _rows(seed))
        losses = _fit(model, examples, steps)
    negated = list(islice((sentence for sentence in sentences(UNSEEN, "all") if sentence.negated), 300))
    places = [place_of(sentence, "verb") for sentence in negated]
    decided = fill_gaps(model, [words_of(sentence) for sentence in negated], [[(at, at + 2)] for at in places])
    rows = [words_of(sentence) for sentence in islice(sentences(UNSEEN, "all"), 300)]
    filled = fill_gaps(model, rows, [random_gaps(len(row), rng) for row in rows])
    return Trained(model, losses, {
        "accepted": sum(map(is_sentence, filled)) / len(filled),
        "same": sum(answer == VOCABULARY.decode(row) for answer, row in zip(filled, rows, strict=True)) / len(filled),
        "decided": sum(answer == " ".join(word for word, _ in other.english())
                       for answer, other in zip(decided, negated, strict=True)) / len(decided),
    })  # fmt: skip


def train_vit(seed: int = 0, steps: int = STEPS, positions: bool = True) -> Trained:
    """The reading half on patches of an image. Measured on 2000 unseen images: the share of `right` quadrants.

    Without `positions` it reads a bag of patches.
    """
    with seeded(seed):
        model = ViT(ViTConfig(num_classes=4, image_size=SIDE, patch_size=PATCH, channels=1, **SIZES))
        if not positions:
            model.positional_encoding = nn.Identity()  # type: ignore[assignment]
        examples = (((images,), wanted) for images, wanted in iter(lambda: two_dots(BATCH_SIZE), None))
        losses = _fit(model, examples, steps)
        images, wanted = two_dots(2000)
        with torch.no_grad():
            right = float((model(images).argmax(dim=-1) == wanted).float().mean())
    return Trained(model, losses, {"right": right})


@torch.no_grad()
def write(model: GPT, count: int) -> list[str]:
    """So many sentences, each word drawn as probable as the model finds it."""
    begin = torch.full((count, 1), BOS_ID)
    ids = continue_text(model, begin, LONGEST - 1, choose=lambda logits: torch.multinomial(logits.softmax(-1), 1)[:, 0])
    return [VOCABULARY.decode(row) for row in ids.tolist()]


def fill_gaps(model: T5, rows: Sequence[Sequence[int]], gaps: Sequence[Sequence[tuple[int, int]]]) -> list[str]:
    """The sentences with what the model writes into these gaps."""
    (source, _), _ = gaps_filled(rows, gaps)
    answers = greedy_search(model, source, BOS_ID, EOS_ID, LONGEST).tolist()
    return [_filled(*pair) for pair in zip(source.tolist(), answers, strict=True)]


def _filled(source: list[int], answer: list[int]) -> str:
    parts, mark = dict[int, list[int]](), 0
    for word in answer:
        if word in GAP_IDS:
            mark, parts[word] = word, []
        elif mark and word not in (PAD_ID, EOS_ID):
            parts[mark].append(word)
    return VOCABULARY.decode(word for token in source for word in parts.get(token, [token]))


@torch.no_grad()
def log_probability(model: GPT, rows: Sequence[Sequence[int]]) -> Float[Tensor, " batch"]:
    """ln of the probability that a GPT gives to each sentence, its end counted."""
    inputs, targets = next_words(rows)
    return -F.cross_entropy(model(*inputs).mT, targets, ignore_index=UNTRAINED, reduction="none").sum(dim=1)


def _whole_right(model: GPT) -> float:
    text = either_number(1000)
    rows = [words_of(sentence) for sentence in text]
    one, many = map(VOCABULARY.encode, FORMS["noun"])
    other = dict(zip(one + many, many + one, strict=True))
    places = [place_of(sentence, "subject.noun") for sentence in text]
    turned = [[*row[:at], other[row[at]], *row[at + 1 :]] for row, at in zip(rows, places, strict=True)]
    return float((log_probability(model, rows) > log_probability(model, turned)).float().mean())


@torch.no_grad()
def number_right(model: GPT | BERT, role: str, count: int = 1000) -> float:
    """How often a model finds the number, one or many, of a word that is hidden from it; a coin is right in 0.5.

    Args:
        model: a GPT sees what stands to the left, a BERT what stands on both sides.
        role: "noun", the subject's, whose number only the verb after it shows; or "verb", which the noun before shows.
    """
    text = either_number(count)
    places = torch.tensor([place_of(sentence, ROLES[role]) for sentence in text])
    ids, batch = pad_sequences([[BOS_ID, *words_of(sentence), EOS_ID] for sentence in text]), torch.arange(count)
    if isinstance(model, GPT):
        logits = model(ids)[batch, places]
    else:
        ids[batch, places + 1] = MASK_ID
        logits = model(ids)[batch, places + 1]
    one, many = (logits.softmax(dim=-1)[:, VOCABULARY.encode(forms)].sum(dim=-1) for forms in FORMS[role])
    return float(((many > one) == torch.tensor([sentence.subject.plural for sentence in text])).float().mean())

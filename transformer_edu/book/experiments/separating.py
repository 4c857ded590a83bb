"""Experiments that tell bugs apart: each does one thing to a trained translator and returns a number (chapter 17).

None is an answer, too: what came out was no number, or the experiment stopped with an error.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu.book.experiments import healthy_translator as healthy
from transformer_edu.book.experiments.healthy_translator import BOS, EOS, PAD, Pairs

FEW = 12  # sentences where a few will do
LONG = 8  # words of a long sentence, at least


@dataclass(frozen=True)
class Patient:
    """A trained translator: its file as a module, its model, the losses of its training, and unseen sentences."""

    code: Any
    model: Any
    before: dict[str, Tensor]  # the weights before training
    losses: list[float]
    pairs: Pairs

    def trained(self) -> Any:
        """The model as the training leaves it."""
        return self.model.train()

    def length(self, count: int) -> Pairs:
        """A few pairs whose French has so many words."""
        return [pair for pair in self.pairs if len(pair[1]) == count][:FEW]


Measure = Callable[[Patient], float | None]


@dataclass(frozen=True)
class Experiment:
    """`asks` says what is measured. As in a healthy model is what lies from `low` to `high`."""

    name: str
    asks: str
    measure: Measure
    low: float
    high: float


def right(written: Tensor, pairs: Pairs) -> float:
    """The share of answers that are right to the last word, the end token included."""
    rows = [[word for word in row[1:] if word != PAD] for row in written.tolist()]
    return sum(ours == [*french, EOS] for ours, (_, french) in zip(rows, pairs, strict=True)) / len(pairs)


def translated(patient: Patient, pairs: Pairs | None = None) -> float:
    """The share of sentences that it translates right, all in one batch, when it is evaluated by its own file."""
    pairs = patient.pairs if pairs is None else pairs
    return right(patient.code.evaluate(patient.trained(), pairs)[1], pairs)


def half(patient: Patient) -> float:
    """The share of sentences that it translates right in float16, when it is evaluated by its own file."""
    return right(patient.code.evaluate(copy.deepcopy(patient.model).half(), patient.pairs)[1], patient.pairs)


def logits_of(model: Any, pairs: Pairs) -> Tensor:
    """Scores of each next token given the right ones before, (B, t, words), in the mode that the model is in."""
    source, target = healthy.batch(pairs)
    with torch.no_grad():
        logits: Tensor = model(source, target[:, :-1])
    return logits


def apart(tensor: Tensor, other: Tensor) -> float:
    """The largest difference of two tensors."""
    return float((tensor - other).abs().max())


def no_numbers(values: Tensor) -> float:
    """The share of entries that are no numbers."""
    return float((~values.isfinite()).float().mean())


def moved(patient: Patient) -> float:
    """How far the weights are from where they began, relative to their length."""
    now = patient.model.state_dict()
    far = sum(float((now[name] - old).square().sum()) for name, old in patient.before.items())
    return math.sqrt(far / sum(float(old.square().sum()) for old in patient.before.values()))


def fresh_gradient(patient: Patient) -> list[Tensor | None]:
    """The gradient of a few unseen sentences, tensor by tensor."""
    model = copy.deepcopy(patient.model).eval()
    model.zero_grad()
    patient.code.loss_of(model, *patient.code.batch(patient.pairs[:32])).backward()
    return [p.grad for p in model.parameters()]


def silent(patient: Patient) -> float:
    """How many tensors of weights get no gradient."""
    return float(sum(gradient is None or not gradient.any() for gradient in fresh_gradient(patient)))


def left_over(patient: Patient) -> float:
    """How much longer the gradient that the last step left in the model is than a fresh one."""
    old = sum(float(p.grad.square().sum()) for p in patient.model.parameters() if p.grad is not None)
    return math.sqrt(old / sum(float(new.square().sum()) for new in fresh_gradient(patient) if new is not None))


def leak(patient: Patient, training: bool = False) -> float:
    """Another word at place 5: how much a score before it moves. In training mode with the same dropout twice."""
    source, target = healthy.batch(patient.length(LONG))
    other = target.clone()
    other[:, 5] = 4 + (target[:, 5] - 3) % (int(target.max()) - 4)
    patient.model.train(training)
    found = []
    for ids in (target, other):
        torch.manual_seed(0)
        with torch.no_grad():
            found.append(patient.model(source, ids[:, :-1])[:, :5])
    return apart(*found)


def exchanged(patient: Patient) -> float:
    """How much the loss rises, in nats, when each sentence gets the English of another one."""
    source, target = healthy.batch(patient.pairs)
    model = patient.model.eval()
    with torch.no_grad():
        return float(healthy.loss_of(model, source.roll(1, 0), target) - healthy.loss_of(model, source, target))


def backwards(patient: Patient) -> float:
    """The English words backwards: how much the memory of a word changes."""
    source = torch.tensor([patient.pairs[0][0]])
    with torch.no_grad():
        return apart(patient.model.eval().encode(source), patient.model.encode(source.flip(1)).flip(1))


def memory_of(patient: Patient, *sentences: list[int], row: int = 0) -> Tensor:
    """What the encoder makes of one sentence of a batch, its padding left out: (n, d)."""
    source = torch.nn.utils.rnn.pad_sequence([torch.tensor(sentence) for sentence in sentences], batch_first=True)
    with torch.no_grad():
        memory: Tensor = patient.model.eval().encode(source)[row, : sum(word != PAD for word in sentences[row])]
    return memory


def padded(patient: Patient) -> float:
    """Three places of padding behind a sentence: how much the memory of a word changes."""
    first = patient.pairs[0][0]
    return apart(memory_of(patient, first), memory_of(patient, [*first, PAD, PAD, PAD]))


def neighbour(patient: Patient) -> float:
    """Another sentence of its length in the row below: how much the memory of a word changes."""
    first, second, *_ = (english for english, _ in patient.length(LONG) if len(english) == LONG)
    return apart(memory_of(patient, first), memory_of(patient, first, second))


def next_row(patient: Patient) -> float:
    """One sentence twice in a batch: how much the two memories differ."""
    first = patient.pairs[0][0]
    return apart(memory_of(patient, first, first), memory_of(patient, first, first, row=1))


def without_number(patient: Patient, padding: int) -> float:
    """The share of the memory of a sentence that is no number, so much padding behind it, before the training."""
    model = copy.deepcopy(patient.model).eval()
    model.load_state_dict(patient.before)
    with torch.no_grad():
        return no_numbers(model.encode(torch.tensor([patient.pairs[0][0] + [PAD] * padding])))


def twice(patient: Patient, evaluated: bool) -> float:
    """One input twice, after its own evaluation or after `model.eval()`: how much the scores differ."""
    patient.trained()
    if evaluated:
        patient.model.eval()
    else:
        patient.code.evaluate(patient.model, patient.pairs[:FEW])
    return apart(logits_of(patient.model, patient.pairs[:FEW]), logits_of(patient.model, patient.pairs[:FEW]))


def same_search(patient: Patient) -> float:
    """The share of sentences that its own search and a plain one write alike."""
    source, model = healthy.batch(patient.pairs)[0], patient.model.eval()
    rows = [search(model, source).tolist() for search in (patient.code.translate, healthy.translate)]
    kept = [[[word for word in row[1:] if word != PAD] for row in answers] for answers in rows]
    return sum(ours == theirs for ours, theirs in zip(*kept, strict=True)) / len(source)


def first_word(patient: Patient) -> float:
    """The share of translations by its own search whose first word is right."""
    written = patient.code.translate(patient.model.eval(), healthy.batch(patient.pairs)[0])[:, 1]
    return float((written == torch.tensor([french[0] for _, french in patient.pairs])).float().mean())


def ended(patient: Patient) -> float:
    """The share of translations by a plain search that come to an end."""
    written = healthy.translate(patient.model.eval(), healthy.batch(patient.pairs)[0])
    return float((written == EOS).any(dim=1).float().mean())


def whole_pairs(patient: Patient) -> float:
    """The share of rows in a batch that are a pair of the data, from begin to end token."""
    source, target = (ids.tolist() for ids in patient.code.batch(patient.pairs))
    given = [([word for word in row if word], [word for word in other if word])
             for row, other in zip(source, target, strict=True)]  # fmt: skip
    wanted = [(english, [BOS, *french, EOS]) for english, french in patient.pairs]
    return sum(pair == other for pair, other in zip(given, wanted, strict=True)) / len(wanted)


def loss_alone(patient: Patient) -> float:
    """Its loss of made-up scores, less what `cross_entropy` of the real tokens says."""
    source, target = healthy.batch(patient.pairs[:FEW])
    scores = torch.randn(FEW, target.shape[1] - 1, 127, generator=torch.Generator().manual_seed(0))
    real = target[:, 1:] != PAD
    return float(patient.code.loss_of(lambda *_: scores, source, target)) - float(
        F.cross_entropy(scores[real], target[:, 1:][real])
    )


def half_numbers(patient: Patient) -> float:
    """The share of scores in float16 that are no numbers."""
    return no_numbers(logits_of(copy.deepcopy(patient.model).eval().half(), patient.pairs[:FEW]))

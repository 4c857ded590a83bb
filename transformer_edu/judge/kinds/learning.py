"""The loss, the learning rate, and the searches."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from transformer_edu.checks.components.beam_search import best_answer
from transformer_edu.checks.components.greedy_search import BOS, EOS, VOCAB, Countdown
from transformer_edu.checks.engine import Mistake
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.judge.experiment import Experiment, tensor_of
from transformer_edu.judge.kind import Function, Kind, Parameters, drawn, known
from transformer_edu.judge.mistakes import named
from transformer_edu.training.loss import label_smoothing
from transformer_edu.training.schedule import warmup_schedule

# ------------------------------------------------------------------ loss

LOGITS = 2 * drawn(2, 4, 7)
TOKENS = torch.tensor([[3, 1, 5, 2], [6, 4, 0, 0]])
WHOLE = torch.tensor([[3, 1, 5, 2], [6, 4, 1, 1]])


def _smoothed(uniform: Function, less: Function = lambda smoothing, row: 0.0) -> Function:
    """The loss whose even part is another, or from which something is taken away."""

    def loss(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
        row = logits.log_softmax(-1)
        truth = -row.gather(-1, target[..., None]).squeeze(-1)
        each = (1 - smoothing) * truth + smoothing * uniform(row, target, pad_id) - less(smoothing, row)
        return each[target != pad_id].mean()

    return loss


def _without(row: Tensor, target: Tensor, pad_id: int, truth: bool) -> Tensor:
    """The mean over all words but padding, and but the right one if `truth`."""
    left_out = torch.zeros_like(row, dtype=torch.bool)
    left_out[..., pad_id] = True
    if truth:
        left_out = left_out.scatter(-1, target[..., None], True)
    return -(row.masked_fill(left_out, 0.0)).sum(-1) / (~left_out).sum(-1)


def _entropy(smoothing: float, row: Tensor) -> float:
    chances = torch.full((row.shape[-1],), smoothing / row.shape[-1])
    chances[0] += 1 - smoothing
    return float(torch.special.entr(chances).sum())


def _loss_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    hint = "(1 − ε) on the truth, and ε / V on each of the V words, the truth among them."
    for name, why, wrong in (
        (
            "the even part is a sum over the vocabulary, not a mean",
            "ε is spread over V words: each gets ε / V.",
            _smoothed(lambda row, target, pad: -row.sum(-1)),
        ),
        (
            "padding gets no share of the smoothing",
            "torch.nn spreads ε over all words, padding too; others spread it over the real words only.",
            _smoothed(lambda row, target, pad: _without(row, target, pad, False)),
        ),
        (
            "padding and the truth get no share of the smoothing",
            "torch.nn spreads ε over all words; others over V − 2 of them.",
            _smoothed(lambda row, target, pad: _without(row, target, pad, True)),
        ),
        (
            "it is the divergence (KL), not the cross-entropy",
            "the entropy of the smoothed target is taken away: the gradient is the same, the number is not.",
            _smoothed(lambda row, target, pad: -row.mean(-1), _entropy),
        ),
    ):
        yield named(name, why, hint, "losses that cannot be compared with others'"), wrong
    yield from known("label smoothing")


LABEL_SMOOTHING = Kind(
    "label_smoothing",
    "fn(logits (batch, seq, vocab), target, pad_id, smoothing) -> mean loss over the tokens that are not padding",
    [
        Experiment("no smoothing, no padding", (LOGITS, WHOLE, 0, 0.0)),
        Experiment("smoothing 0.2, no padding", (LOGITS, WHOLE, 0, 0.2)),
        Experiment("no smoothing, two tokens of padding", (LOGITS, TOKENS, 0, 0.0)),
        Experiment("smoothing 0.1, two tokens of padding", (LOGITS, TOKENS, 0, 0.1)),
        Experiment("another padding id", (LOGITS, torch.tensor([[3, 1, 5, 2], [6, 5, 5, 5]]), 5, 0.1)),
        Experiment("one token", (LOGITS[:1, :1], TOKENS[:1, :1], 0, 0.3)),
        Experiment(
            "scores of a thousand",
            (500 * LOGITS, TOKENS, 0, 0.1),
            alone="large scores overflow: the logarithm of a softmax, where log_softmax is meant",
        ),
    ],
    lambda parameters: iter([("", label_smoothing)]),
    _loss_wrongs,
    made=False,
)

# ------------------------------------------------------------------ learning rate


def _call_rate(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    return 1e4 * tensor_of(fn(*inputs)).double()


def _rate(fn: Function) -> Function:
    return lambda *inputs: _call_rate(fn, inputs)


def _schedule_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for mistake, wrong in known("warm-up schedule"):
        yield mistake, _rate(wrong)


WARMUP = Kind(
    "warmup_schedule",
    "fn(step, d_model, warmup_steps) -> learning rate, steps from 1 (paper, equation 3)",
    [
        Experiment("half-way up", (50, 16, 100)),
        Experiment("the first step", (1, 16, 100)),
        Experiment("the peak", (100, 16, 100)),
        Experiment("after the peak", (400, 16, 100)),
        Experiment("the paper's base model", (2000, 512, 4000)),
        Experiment("the paper's base model, at its end", (100000, 512, 4000)),
    ],
    lambda parameters: iter([("", _rate(warmup_schedule))]),
    _schedule_wrongs,
    made=False,
    plain=True,
    call=_call_rate,
)

# ------------------------------------------------------------------ greedy search


class Plain(Countdown):
    """Counts down by the places of its target, pads with 9, and has an order of its own in its hidden vectors.

    After <eos> it would go on with 7.
    """

    def __init__(self) -> None:
        super().__init__()
        self.config = replace(self.config, pad_id=9)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: Any = None) -> Tensor:
        """The wanted next token of every position, one place further: (batch, seq, vocab)."""
        step = 2 if self.training else 1
        before = 0 if cache is None else getattr(cache, "places", 0)  # with a cache only new tokens come
        if cache is not None:
            cache.places = before + target.shape[1]
        wanted = (source[:, :1] - step * torch.arange(before, before + target.shape[1])).clamp(min=EOS)
        ended = (target == EOS).long().cumsum(-1) > 0
        return one_hot(wanted.masked_fill(ended, 7), VOCAB).float().roll(1, -1)

    def project(self, x: Tensor) -> Tensor:
        """Logits: 1 for the wanted token, 0 for the others."""
        return x.roll(-1, -1)


def _call_greedy(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    """The ids, each row after its end left out, and whether the model's mode is as before."""
    source, max_len, training, tempting = inputs
    model = (Countdown() if tempting else Plain()).train(training)
    with torch.no_grad():
        ids = tensor_of(fn(model, source, BOS, EOS, max_len))
    if ids.dim() != 2 or ids.shape[0] != source.shape[0]:
        raise TypeError(f"returned a tensor of shape {tuple(ids.shape)}, expected (batch, length)")
    if ids.shape[1] > max_len:
        return torch.tensor([-1.0, ids.shape[1]])  # more than were asked for
    rows = torch.full((ids.shape[0], max_len), model.config.pad_id)
    rows[:, : ids.shape[1]] = ids
    return torch.cat([rows.flatten().float(), torch.tensor([float(model.training is training)])])


def _greedy(fn: Function) -> Function:
    def answer(*inputs: Any) -> Tensor:
        def by_name(model: Any, source: Tensor, bos: int, eos: int, max_len: int) -> Any:
            return fn(model, source, bos_id=bos, eos_id=eos, max_len=max_len)

        return _call_greedy(by_name, inputs)

    return answer


def _greedy_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for mistake, wrong in known("greedy search"):
        yield mistake, _greedy(wrong)


GREEDY = Kind(
    "greedy_search",
    "fn(model, source, bos_id, eos_id, max_len) -> ids (batch, <= max_len), begins with bos_id, ended rows padded",
    [
        Experiment("one sentence", (torch.tensor([[4]]), 8, False, False)),
        Experiment("an answer that does not fit", (torch.tensor([[8]]), 4, False, False)),
        Experiment("two sentences of different length", (torch.tensor([[3], [5]]), 8, False, False)),
        Experiment("three sentences", (torch.tensor([[6], [3], [4]]), 9, False, False)),
        Experiment(
            "a model in training mode",
            (torch.tensor([[4]]), 8, True, False),
            remark=True,
            alone="it does not see to the model's mode: call model.eval() before",
        ),
        Experiment(
            "a model that would rather pad",
            (torch.tensor([[4]]), 8, False, True),
            remark=True,
            alone="it may choose <pad> or <bos>, which no search of this book does",
        ),
    ],
    lambda parameters: iter([("", _greedy(greedy_search))]),
    _greedy_wrongs,
    made=False,
    plain=True,
    call=_call_greedy,
)

# ------------------------------------------------------------------ beam search

Tree = dict[tuple[int, ...], dict[int, float]]
WORDS = 8
TEMPTING: Tree = {(): {3: 0.6, 4: 0.4}, (3,): {2: 0.3, 5: 0.3, 6: 0.4}, (4,): {2: 0.95, 5: 0.05}}
LATE: Tree = {(): {2: 0.4, 3: 0.6}, (3,): {4: 0.9, 2: 0.1}, (3, 4): {5: 0.9, 2: 0.1}, (3, 4, 5): {2: 1.0}}
WEIGHED: Tree = {  # with an exponent of 1, (4, 5, 2) is the best; other ways to count the length choose another
    (): {3: 0.17, 4: 0.83},
    (3,): {2: 0.17, 5: 0.83},
    (4,): {2: 0.4, 5: 0.6},
    (3, 5): {2: 0.38, 6: 0.62},
    (4, 5): {2: 0.58, 6: 0.42},
    (3, 5, 6): {2: 0.29, 7: 0.71},
}
ENDLESS: Tree = {(): {3: 0.7, 4: 0.3}, (3,): {3: 0.8, 5: 0.2}, (4,): {4: 1.0}}


def _tree_function(tree: Tree, as_tensor: bool) -> Function:
    def next_log_probs(ids: Any) -> Any:
        prefix = tuple(int(one) for one in ids)[1:]
        chances = tree.get(prefix) or tree.get(prefix[-1:]) or {EOS: 1.0}
        if not as_tensor:
            return {token: math.log(chance) for token, chance in chances.items()}
        row = torch.full((WORDS,), -math.inf)
        for token, chance in chances.items():
            row[token] = math.log(chance)
        return row

    return next_log_probs


def _call_beam(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    """The ids and their log-probability; next_log_probs answers with a tensor, or else with a dictionary."""
    tree, max_len, beam_size, penalty, *only_length = inputs
    try:
        answer = fn(_tree_function(tree, True), BOS, EOS, max_len, beam_size, penalty)
    except (AttributeError, TypeError, KeyError, ValueError):
        answer = fn(_tree_function(tree, False), BOS, EOS, max_len, beam_size, penalty)
    ids, log_prob = answer
    if only_length:
        return torch.tensor(float(len(ids) > max_len))
    row = torch.full((max_len + 4,), -1.0)
    listed = [int(one) for one in ids][: max_len + 4]
    row[: len(listed)] = torch.tensor(listed, dtype=torch.float32)
    return torch.cat([row, tensor_of(log_prob if isinstance(log_prob, Tensor) else float(log_prob)).reshape(1).float()])


def _beam(fn: Function) -> Function:
    def answer(*inputs: Any) -> Tensor:
        def on_dictionaries(next_log_probs: Any, *rest: Any) -> Any:
            return fn(_tree_function(inputs[0], False), *rest)

        return _call_beam(on_dictionaries, inputs)

    return answer


def _beam_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for mistake, wrong in known("beam search"):
        yield mistake, _beam(wrong)
    yield (
        named(
            "the beam is as wide as one: it is greedy",
            "only the best continuation survives each step.",
            "How many partial answers do you keep after each step?",
            "a better answer that begins with a less likely word is never found",
        ),
        _beam(lambda fn, bos, eos, max_len, beam_size, penalty: best_answer(fn, bos, eos, max_len, 1, penalty)),
    )


BEAM = Kind(
    "beam_search",
    "fn(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty) -> (ids, log_prob), the best answer",
    [
        Experiment("a beam of two, where the likeliest first word is not the best", (TEMPTING, 6, 2, 0.0)),
        Experiment("a beam of one", (TEMPTING, 6, 1, 0.0)),
        Experiment("a beam of two with a length penalty", (LATE, 8, 2, 1.0)),
        Experiment("a short answer without a length penalty", (LATE, 8, 2, 0.0)),
        Experiment(
            "a beam of eight, where the length decides",
            (WEIGHED, 7, 8, 1.0),
            alone="the length penalty is not log_prob / ((5 + length) / 6) ** length_penalty",
        ),
        Experiment(
            "no more ids than max_len", (ENDLESS, 4, 2, 0.0, "length"), alone="it returns more than max_len ids"
        ),
        Experiment("a beam of three", (TEMPTING, 6, 3, 0.6)),
        Experiment(
            "answers that do not end in time",
            (ENDLESS, 4, 2, 0.0),
            remark=True,
            alone="where no answer has ended in time, another partial one is returned than in this book",
        ),
    ],
    lambda parameters: iter([("", _beam(best_answer))]),
    _beam_wrongs,
    made=False,
    plain=True,
    call=_call_beam,
)
KINDS = [LABEL_SMOOTHING, WARMUP, GREEDY, BEAM]

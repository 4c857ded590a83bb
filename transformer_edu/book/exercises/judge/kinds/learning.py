"""The loss, the learning rate, and the searches."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from transformer_edu.book.exercises.checks.components.beam_search import best_answer, search
from transformer_edu.book.exercises.checks.components.greedy_search import BOS, EOS, VOCAB, Countdown
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import Experiment, tensor_of
from transformer_edu.book.exercises.judge.kind import Function, Kind, Parameters, drawn, joined, known
from transformer_edu.book.exercises.judge.mistakes import entry, named
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.training.loss import label_smoothing
from transformer_edu.training.schedule import warmup_schedule

# ------------------------------------------------------------------ loss

LOGITS = 2 * drawn(2, 4, 7)
TOKENS = torch.tensor([[3, 1, 5, 2], [6, 4, 0, 0]])
WHOLE = torch.tensor([[3, 1, 5, 2], [6, 4, 1, 1]])


Even = Callable[[Tensor, Tensor, int], Tensor]  # logarithms (batch, seq, vocab), target, padding id -> (batch, seq)
Words = Callable[[Tensor, int, int], Tensor]  # target, padding id, size of the vocabulary -> (batch, seq, vocab)


def _loss(
    even: Even,
    row_of: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1),
    mean: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda truth, even, real: (truth + even)[real].mean(),
) -> Function:
    """A smoothed loss: how the even part is spread, what is averaged, and over what."""

    def loss(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
        row = row_of(logits)
        truth = -(1 - smoothing) * row.gather(-1, target[..., None]).squeeze(-1)
        return mean(truth, smoothing * even(row, target, pad_id), target != pad_id)

    return loss


def _over(words: Words) -> Even:
    """Spread evenly over those words that are True in `words(target, pad_id, size)`."""

    def even(row: Tensor, target: Tensor, pad_id: int) -> Tensor:
        chosen = words(target, pad_id, row.shape[-1])
        return -row.masked_fill(~chosen, 0.0).sum(-1) / chosen.sum(-1)

    return even


# Over which words the even part is spread: torch.nn's way, and three others that are in use. A smoothed target sums to
# one in each; what is remarked of it, and the words.
SPREADS: dict[str, Words] = {
    "": lambda target, pad_id, size: torch.ones(*target.shape, size, dtype=torch.bool),
    "the smoothing goes to the other words, the right one gets no share of it (torch.nn gives it one)": (
        lambda target, pad_id, size: one_hot(target, size) == 0
    ),
    "padding gets no share of the smoothing (torch.nn gives it one)": (
        lambda target, pad_id, size: (torch.arange(size) != pad_id).expand(*target.shape, size)
    ),
    "padding and the right word get no share of the smoothing (torch.nn gives them one)": (
        lambda target, pad_id, size: (one_hot(target, size) == 0) & (torch.arange(size) != pad_id)
    ),
}
KL = "it is the divergence (KL), not the cross-entropy: the same gradient, and a number without the target's entropy"


def _divergence(words: Words) -> Function:
    """The smoothed loss less the entropy of the smoothed target."""

    def loss(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
        chosen, real = words(target, pad_id, logits.shape[-1]), target != pad_id
        wanted = (1 - smoothing) * one_hot(target, logits.shape[-1]) + smoothing * chosen / chosen.sum(-1, keepdim=True)
        entropy: Tensor = torch.special.entr(wanted).sum(-1)[real].mean()
        return _loss(_over(words))(logits, target, pad_id, smoothing) - entropy

    return loss


def _loss_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    for remark, words in SPREADS.items():
        yield remark, _loss(_over(words))
        yield joined(remark, KL), _divergence(words)


def _loss_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    hint = "(1 − ε) on the truth, and ε / V on each of the V words, the truth among them."
    symptom = "losses that cannot be compared with others'"
    for name, why, wrong in (
        (
            "the even part is a sum over the vocabulary, not a mean",
            "ε is spread over V words: each gets ε / V.",
            _loss(lambda row, target, pad: -row.sum(-1)),
        ),
        (
            "the share of padding is taken away and given to nobody",
            "the target no longer sums to one: what padding had is missing from every token's loss.",
            _loss(lambda row, target, pad: -(row.sum(-1) - row[..., pad]) / row.shape[-1]),
        ),
        (
            "the wanted word gets nothing of what is spread, and nobody gets its share",
            "the softened target no longer sums to one: ε / V goes to V − 1 words.",
            _loss(lambda row, target, pad: -(row.sum(-1) - row.gather(-1, target[..., None])[..., 0]) / row.shape[-1]),
        ),
    ):
        yield named(name, why, hint, symptom), wrong
    yield entry(
        "the divergence (KL) without smoothing is NaN: 0 · log 0",
        "where the smoothed target is 0, its own logarithm is −∞; F.kl_div knows that 0 · log 0 is 0.",
        "What does your loss say for smoothing = 0?",
        "NaN as soon as smoothing is switched off",
        lambda *inputs: _divergence(SPREADS[""])(*inputs) + (math.nan if inputs[3] == 0 else 0.0),
    )
    for even in map(_over, SPREADS.values()):
        yield entry(
            "the even part of the loss is summed over padding too",
            "only the share of the right word is masked: padding adds to the loss, and to the gradient.",
            "Which of your two sums knows where padding is?",
            "the more padding a batch has, the larger its loss",
            _loss(even, mean=lambda truth, even, real: (truth[real].sum() + even.sum()) / real.sum()),
        )
        yield entry(
            "the sum over the real tokens is divided by the number of all tokens",
            "padding counts for nothing in the sum and for one in the divisor.",
            "What does your loss say of a batch that is half padding?",
            "the more padding a batch has, the smaller its loss and its gradient",
            _loss(even, mean=lambda truth, even, real: (truth + even)[real].sum() / real.numel()),
        )
        yield entry(
            "probabilities stand where their logarithms should",
            "cross-entropy is −Σ target · log p; here p itself is weighted.",
            "What is your loss where the model is sure and right? It should be near 0.",
            "a loss below 0, with a weak gradient where the model is most wrong",
            _loss(even, row_of=lambda logits: logits.softmax(-1)),
        )
    yield entry(
        "the logits are reshaped where they should be transposed",
        "cross_entropy wants (batch, vocab, seq): transpose(1, 2) turns the axes, reshape only cuts the same "
        "numbers in other places.",
        "Which numbers stand beside each other in the first column, before and after?",
        "a loss that comes down slowly and never far: most rows belong to no token",
        lambda logits, target, pad_id, smoothing: label_smoothing(
            logits.reshape(logits.shape[0], logits.shape[2], logits.shape[1]).transpose(1, 2), target, pad_id, smoothing
        ),
    )
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
        Experiment("three sentences, eleven words", (2 * drawn(3, 4, 11), torch.cat([TOKENS, WHOLE[:1]]), 0, 0.1)),
        Experiment(
            "scores of a thousand",
            (500 * LOGITS, TOKENS, 0, 0.1),
            alone="large scores overflow: the logarithm of a softmax, where log_softmax is meant",
        ),
    ],
    _loss_rights,
    _loss_wrongs,
    made=False,
)

# ------------------------------------------------------------------ learning rate


def _call_rate(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    return 1e4 * tensor_of(fn(*inputs)).double()


def _rate(fn: Function) -> Function:
    return lambda *inputs: _call_rate(fn, inputs)


def _schedule_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    hint = "d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5): work out the rate at the peak and at 4 × warm-up."
    for name, why, symptom, scaled in (
        (
            "after the warm-up the rate stays at its peak",
            "from there on it falls with the root of the step.",
            "steps that are too large at the end: the loss does not settle",
            lambda step, warm: min(warm**-0.5, step * warm**-1.5),
        ),
        (
            "it falls with the step, not with its root",
            "step^-0.5, not step^-1: four times the steps halve the rate.",
            "training that comes to a halt early",
            lambda step, warm: min(warm**0.5 / step, step * warm**-1.5),
        ),
        *(
            (
                "after the warm-up the steps are counted anew",
                "the step is counted from the beginning of training, in both branches.",
                "the rate leaps up at the end of the warm-up",
                lambda step, warm, last=last: step * warm**-1.5 if step < warm + last else max(step - warm, 1) ** -0.5,
            )
            for last in (0, 1)
        ),
        (
            "a division drops the fraction: the rate is 0 during the warm-up",
            "// is a division of whole numbers: step // warmup_steps is 0 until the last step of the warm-up.",
            "nothing is learned for thousands of steps, then training breaks",
            lambda step, warm: step // warm * warm**-0.5 if step < warm else step**-0.5,
        ),
    ):
        yield (
            named(name, why, hint, symptom),
            _rate(lambda step, d_model, warm, scaled=scaled: d_model**-0.5 * scaled(step, warm)),
        )
    yield entry(
        "−1 / 2 is no exponent without brackets: the power −1 is halved",
        "d_model ** -1 / 2 is (1 / d_model) / 2.",
        "What is 4 ** -1 / 2, and what 4 ** (-1 / 2)?",
        "a rate that is too small by half a root of d_model",
        _rate(lambda step, d_model, warm: d_model**-1 / 2 * min(step**-0.5, step * warm**-1.5)),
    )
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
    return partial(_written, fn)


def _written(fn: Function, *inputs: Any) -> Tensor:
    def by_name(model: Any, source: Tensor, bos: int, eos: int, max_len: int) -> Any:
        return fn(model, source, bos_id=bos, eos_id=eos, max_len=max_len)

    return _call_greedy(by_name, inputs)


def _loop(
    logits: Function = lambda model, out: model.project(out[:, -1]),
    choose: Function = lambda row: row.argmax(-1),
    keeps_end: bool = True,
) -> Function:
    """A greedy search whose steps can be exchanged."""

    def search(model: Any, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
        memory, pad = model.encode(source), model.config.pad_id
        ids = source.new_full((source.shape[0], 1), bos_id)
        ended = source.new_zeros(source.shape[0]).bool()
        while ids.shape[1] < max_len:
            chosen = choose(logits(model, model.decode(ids, memory, source)))
            chosen = chosen.masked_fill(ended, pad)
            ended = ended | (chosen == eos_id)
            if not keeps_end and bool(ended.all()):
                break
            ids = torch.cat([ids, chosen[:, None]], dim=1)
            if bool(ended.all()):
                break
        return ids

    return search


GREEDY_LOOPS = (
    (
        "the likeliest token is looked for across the batch",
        "argmax(dim=0) compares sentences with each other: the vocabulary is the last dimension.",
        "Which shape have the logits, and along which of their dimensions do you take the maximum?",
        "ids that are numbers of sentences, and an error or nonsense for larger batches",
        _loop(choose=lambda row: row.argmax(0)[: row.shape[0]]),
    ),
    (
        "the end is not written",
        "the loop is left before the last token is appended: an answer ends with eos_id.",
        "What is the last id of your answer?",
        "nobody can tell a whole answer from one that was cut",
        _loop(keeps_end=False),
    ),
    (
        "the next token is predicted from one token: the first position is read, or the last token alone is handed in",
        "the decoder needs all that is written so far, and says what comes next at the last position: [:, -1].",
        "Which shape does the decoder's input have in the third step, and which position do you read?",
        "answers that repeat, or lose their thread",
        _loop(logits=lambda model, out: model.project(out[:, 0])),
    ),
    (
        "the hidden vectors are taken for logits",
        "decode gives vectors of d_model numbers; project turns them into one score a word.",
        "How long is the vector whose argmax you take?",
        "ids below d_model, and none that fits",
        _loop(logits=lambda model, out: out[:, -1]),
    ),
)


def _filled(filler: int, search: Function = greedy_search) -> Function:
    """A search, the right one if no other is given, with another id behind the end."""

    def filled(model: Any, source: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
        ids = search(model, source, bos_id, eos_id, max_len)
        return ids.masked_fill(ids == model.config.pad_id, filler)

    return filled


def _greedy_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    yield "", _greedy(greedy_search)
    yield "behind the end of a sentence it writes eos_id, where this book writes config.pad_id", _greedy(_filled(EOS))
    yield "behind the end of a sentence it writes 0, where this book writes config.pad_id", _greedy(_filled(0))


def _greedy_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for name, why, hint, symptom, wrong in GREEDY_LOOPS:
        yield named(name, why, hint, symptom), _greedy(wrong)
    for mistake, wrong in known("greedy search"):
        for fn in (wrong, _filled(EOS, wrong), _filled(0, wrong)):
            yield mistake, _greedy(fn)


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
    _greedy_rights,
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
SOON: Tree = {(): {2: 0.3, 3: 0.6, 4: 0.1}, (3,): {2: 0.9, 5: 0.1}}
WEIGHED: Tree = {  # with an exponent of 1, (4, 5, 2) is the best; other ways to count the length choose another
    (): {3: 0.17, 4: 0.83},
    (3,): {2: 0.17, 5: 0.83},
    (4,): {2: 0.4, 5: 0.6},
    (3, 5): {2: 0.38, 6: 0.62},
    (4, 5): {2: 0.58, 6: 0.42},
    (3, 5, 6): {2: 0.29, 7: 0.71},
}
CROWDED: Tree = {
    (): {3: 0.6, 4: 0.4},
    (3,): {5: 0.55, 6: 0.45},
    (4,): {7: 0.6, 2: 0.4},
    (3, 5): {2: 0.3, 5: 0.3, 6: 0.4},
}
ENDLESS: Tree = {(): {3: 0.7, 4: 0.3}, (3,): {3: 0.8, 5: 0.2}, (4,): {4: 1.0}}


def _tree_function(tree: Tree, as_tensor: bool) -> Function:
    def next_log_probs(ids: Any) -> Any:
        if len(ids) and isinstance(ids[0], list | tuple | Tensor) and (not isinstance(ids, Tensor) or ids.dim() == 2):
            return torch.stack([next_log_probs(row) for row in ids])  # all of a beam at once
        prefix = tuple(int(token_id) for token_id in ids)[1:]
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
    listed = [int(token_id) for token_id in ids][: max_len + 4]
    row[: len(listed)] = torch.tensor(listed, dtype=torch.float32)
    return torch.cat([row, tensor_of(log_prob if isinstance(log_prob, Tensor) else float(log_prob)).reshape(1).float()])


def _beam(fn: Function) -> Function:
    return partial(_found, fn)


def _found(fn: Function, *inputs: Any) -> Tensor:
    def on_dictionaries(next_log_probs: Any, *rest: Any) -> Any:
        return fn(_tree_function(inputs[0], False), *rest)

    return _call_beam(on_dictionaries, inputs)


def _beam_loop(
    add: Function = lambda log_prob, step, token: log_prob + step,
    order: Function = lambda answer: -answer[1],
    extend: Function = lambda ids, token: [*ids, token],
    each: int = WORDS,
    behind: Function = lambda longer, beam: longer,
) -> Function:
    """A beam search of the usual kind (no look at what may still come), whose steps can be exchanged."""

    def search(
        next_log_probs: Function, bos_id: int, eos_id: int, max_len: int, beam_size: int, length_penalty: float
    ) -> tuple[list[int], float]:
        beam: list[tuple[list[int], float]] = [([bos_id], 0.0)]
        done: list[tuple[list[int], float]] = []
        while beam and len(beam[0][0]) < max_len:
            longer = []
            for ids, log_prob in beam:
                steps = dict.fromkeys(range(WORDS), -math.inf) | next_log_probs(list(ids))
                best = sorted(steps, key=steps.__getitem__, reverse=True) if each < WORDS else range(WORDS)
                longer += [(extend(ids, token), add(log_prob, steps[token], token)) for token in best[:each]]
            longer = behind(sorted(longer, key=order)[:beam_size], beam)
            done += [candidate for candidate in longer if candidate[0][-1] == eos_id]
            beam = [candidate for candidate in longer if candidate[0][-1] != eos_id]
        return max([*done, *beam], key=lambda candidate: candidate[1] / ((4 + len(candidate[0])) / 6) ** length_penalty)

    return search


def _in_place(ids: list[int], token: int) -> list[int]:
    ids.append(token)
    return ids


BEAM_LOOPS = (
    (
        "the beam keeps the least likely answers",
        "sorted() goes up: the largest log-probability comes last.",
        "Print the log-probabilities of what you keep and of what you drop.",
        "answers that no one would give",
        _beam_loop(order=lambda answer: answer[1]),
    ),
    (
        "the end costs nothing",
        "eos_id is a token like others: its log-probability belongs to the sum.",
        "What is the log-probability of an answer that has ended, step by step?",
        "answers that end too early",
        _beam_loop(add=lambda log_prob, step, token: log_prob + (0.0 if token == EOS else step)),
    ),
    (
        "an answer's score is that of its last token",
        "log-probabilities add up along an answer; here each step begins anew.",
        "What is the log-probability of the second of two tokens worth without that of the first?",
        "long answers whose beginning was unlikely",
        _beam_loop(add=lambda log_prob, step, token: step),
    ),
    (
        "log-probabilities are multiplied",
        "probabilities are multiplied, their logarithms added: a product of two negative numbers is positive.",
        "Which sign has the score of two tokens?",
        "unlikely answers win",
        _beam_loop(add=lambda log_prob, step, token: (log_prob or 1.0) * step),
    ),
    (
        "new tokens are put behind other answers than those that they go on from",
        "the best continuations come from some of the beam's answers, perhaps twice from one: which has to be kept.",
        "topk runs over beam × vocabulary. From which answer does its third result come?",
        "answers whose probability is not the one that is returned",
        _beam_loop(
            behind=lambda longer, beam: [
                ([*beam[i % len(beam)][0], ids[-1]], log_prob) for i, (ids, log_prob) in enumerate(longer)
            ]
        ),
    ),
    (
        "all continuations share one list",
        "append changes the list that the others hold, too: ids + [token] makes a new one.",
        "Print the ids of the beam after the second step.",
        "answers longer than the number of steps",
        _beam_loop(extend=_in_place, each=2),
    ),
)


STOPS: dict[str, dict[str, Any]] = {
    "": {},
    "it stops when beam_size answers have ended": {"enough": lambda ended, beam, size: len(ended) >= size},
}
SCORES: dict[str, dict[str, Any]] = {"": {}} | {
    f"answers are compared by log_prob / length ** length_penalty{counted}": {
        "score": lambda log_prob, length, penalty, more=more: log_prob / max(length + more, 1) ** penalty
    }
    for counted, more in (("", 0), (", bos_id counted", 1), (", eos_id not counted", -1))
}


def _beam_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    yield "", _beam(best_answer)
    for score, how in SCORES.items():
        for stop, when in STOPS.items():
            yield joined(score, stop), _beam(partial(search, **how, **when))


def _beam_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for name, why, hint, symptom, wrong in BEAM_LOOPS:
        yield named(name, why, hint, symptom), _beam(wrong)
    for mistake, wrong in known("beam search"):
        yield mistake, _beam(wrong)
    yield entry(
        "the beam is as wide as one: it is greedy",
        "only the best continuation survives each step.",
        "How many partial answers do you keep after each step?",
        "a better answer that begins with a less likely word is never found",
        _beam(lambda fn, bos, eos, max_len, beam_size, penalty: best_answer(fn, bos, eos, max_len, 1, penalty)),
    )


BEAM = Kind(
    "beam_search",
    "fn(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty) -> (ids, log_prob), the best answer",
    [
        Experiment("a beam of two, where the likeliest first word is not the best", (TEMPTING, 6, 2, 0.0)),
        Experiment("a beam of one", (TEMPTING, 6, 1, 0.0)),
        Experiment("a beam of two, both from one first word", (CROWDED, 6, 2, 0.0)),
        Experiment("a beam of two with a length penalty", (LATE, 8, 2, 1.0)),
        Experiment("a short answer without a length penalty", (LATE, 8, 2, 0.0)),
        Experiment("an end that comes first, and a likelier one after it", (SOON, 6, 2, 1.0)),
        Experiment(
            "a beam of eight, where the length decides",
            (WEIGHED, 7, 8, 1.0),
            alone="an answer of another length wins: not all that ended are compared, or the penalty is another",
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
    _beam_rights,
    _beam_wrongs,
    made=False,
    plain=True,
    call=_call_beam,
)
KINDS = [LABEL_SMOOTHING, WARMUP, GREEDY, BEAM]

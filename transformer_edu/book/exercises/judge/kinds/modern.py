"""What later models put in a part's place: gates, experts, turned positions, linear biases, windows, sampling."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.rotary import COMPONENT as ROTARY_CHECK
from transformer_edu.book.exercises.checks.components.rotary import turn
from transformer_edu.book.exercises.checks.components.sampling_probabilities import probabilities
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import BEYOND, KEPT, LONG, TRAINING, Experiment, tensor_of
from transformer_edu.book.exercises.judge.kind import Function, Kind, Parameters, drawn, joined, known
from transformer_edu.book.exercises.judge.kinds.attention import mask_kind
from transformer_edu.book.exercises.judge.kinds.decoder_only import GATES, PLAIN
from transformer_edu.book.exercises.judge.kinds.parts import COARSE, D_FF, D_MODEL, EACH_TOKEN, FAR_OFF, OTHERS, WIDER
from transformer_edu.book.exercises.judge.mistakes import entry, named
from transformer_edu.book.exercises.judge.mistakes_since import of_gates, of_slopes
from transformer_edu.book.exercises.judge.model import (
    Affine,
    Parts,
    Style,
    alibi,
    fitting,
    inner_of,
    likely,
    of_equation_two,
    shapes_of_inner,
    styles,
)
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.parts import window_mask

# ------------------------------------------------------------------ a gated feed-forward part

GATED_STYLES = styles(gated=(True,), inner=("none", "both"))


def _gated(inside: Function, parameters: Parameters, style: Style) -> Reference:
    def run(p: Parts, x: Tensor) -> Any:
        return inside(x, Affine(p["gate"], p.get("gate_bias")), *inner_of(p))

    return Reference(shapes_of_inner(parameters.sizes["d_model"], parameters.sizes["d_ff"], style), run)


def _gated_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    for style in fitting(GATED_STYLES, parameters, partial(_gated, GATES[0][1], parameters)):
        for remark, inside in GATES:
            yield remark, _gated(inside, parameters, style)


def _gated_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for style in likely(GATED_STYLES, parameters, partial(_gated, GATES[0][1], parameters)):
        for mistake, steps in of_gates():
            yield mistake, _gated(steps.gated, parameters, style)


GATED = Kind(
    "gated_feed_forward",
    "cls(d_model, d_ff, dropout=0.0), (silu(x W_gate) ⊙ x W_up) W_down, or with GELU",
    EACH_TOKEN,
    _gated_rights,
    _gated_wrongs,
    options={"d_model": D_MODEL, "d_ff": D_FF, "dropout": 0.0},
    unbiased=True,
    each_token_alone=True,
    least=3 * D_MODEL * D_FF,
).at(
    OTHERS,
    3 * WIDER * 44,
    d_model=WIDER,
    d_ff=44,
)

# ------------------------------------------------------------------ experts

EXPERTS, CHOSEN = 4, 2
EXPERT_STYLES = styles(gated=(True, False), inner=("none", "both", "first"), projection=(False, True))  # of the router
Gate = Callable[[Tensor, int], Tensor]


def _chosen(scores: Tensor, top_k: int, most: bool = True) -> Tensor:
    """The scores of the top_k, and 0 for all others."""
    best = scores.topk(top_k, dim=-1, largest=most).indices
    return scores * torch.zeros_like(scores).scatter(-1, best, 1.0)


def _divided(kept: Tensor) -> Tensor:
    return kept / kept.sum(-1, keepdim=True)


def gates(logits: Tensor, top_k: int) -> Tensor:
    """The softmax over those chosen (Mixtral)."""
    return _divided(_chosen(logits.softmax(-1), top_k))


MIXTURES: list[tuple[str, Gate]] = [  # right ones, with what is remarked of each
    ("", gates),
    ("the gates are not divided by their sum (Switch)", lambda logits, top_k: _chosen(logits.softmax(-1), top_k)),
    ("the scores are sigmoids (DeepSeek-V3)", lambda logits, top_k: _divided(_chosen(logits.sigmoid(), top_k))),
]


def _mixture(gate: Gate, inside: Function, parameters: Parameters, style: Style) -> Reference:
    sizes, count = parameters.sizes, parameters.sizes["num_experts"]
    shapes = {name: (count, *shape) for name, shape in shapes_of_inner(sizes["d_model"], sizes["d_ff"], style).items()}
    shapes["router"] = (sizes["d_model"], count)
    shapes |= {"router_bias": (count,)} if style.projection else {}

    def run(p: Parts, x: Tensor, top_k: int | None = None) -> Tensor:
        weights = gate(Affine(p["router"], p.get("router_bias"))(x), top_k or count)
        each = []
        for index in range(count):
            own = {name: tensor[index] for name, tensor in p.items() if "router" not in name}
            first, second = inner_of(own)
            if style.gated:
                each.append(inside(x, Affine(own["gate"], own.get("gate_bias")), first, second))
            else:
                each.append(inside(x, *of_equation_two(first, second)))
        return (torch.stack(each, -1) * weights[..., None, :]).sum(-1)

    return Reference(shapes, run, kink=gate is not gates)  # where all scores are the same, any expert may be the first


def _mixture_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    for style in fitting(EXPERT_STYLES, parameters, partial(_mixture, gates, GATES[0][1], parameters)):
        for more, gate in MIXTURES:
            for remark, inside in GATES if style.gated else [("", network) for _, network in PLAIN]:
                yield joined(more, remark), _mixture(gate, inside, parameters, style)


WRONG_GATES: tuple[tuple[str, str, Gate], ...] = (
    (
        "every chosen expert has the same weight",
        "What do the router's scores do beside choosing?",
        lambda logits, top_k: (_chosen(logits.softmax(-1), top_k) > 0).to(logits.dtype) / top_k,
    ),
    (
        "every chosen expert has the weight of the best one",
        "topk gives two results. Which weight goes with which index?",
        lambda logits, top_k: (gates(logits, top_k) > 0) * gates(logits, top_k).amax(-1, keepdim=True),
    ),
    (
        "the chosen experts' outputs are added without weights",
        "What do the router's scores do beside choosing?",
        lambda logits, top_k: (_chosen(logits.softmax(-1), top_k) > 0).to(logits.dtype),
    ),
    (
        "the experts with the lowest scores are chosen",
        "Which expert should a token go to whose first score is the highest?",
        lambda logits, top_k: _divided(_chosen(logits.softmax(-1), top_k, most=False)),
    ),
    (
        "all experts are used, whatever top_k says",
        "How many of your experts does one token go through?",
        lambda logits, top_k: logits.softmax(-1),
    ),
    (
        "only the best expert is used, whatever top_k says",
        "How many of your experts does one token go through?",
        lambda logits, top_k: gates(logits, 1),
    ),
    (
        "one expert more than top_k is used",
        "How many of your experts does one token go through?",
        lambda logits, top_k: gates(logits, min(top_k + 1, logits.shape[-1])),
    ),
    (
        "the weights are the router's logits, without a softmax",
        "Do the weights of one token sum to 1?",
        _chosen,
    ),
    (
        "a second softmax over the scores of those chosen",
        "Which numbers go into your second softmax: logits, or probabilities?",
        lambda logits, top_k: (
            logits.softmax(-1).masked_fill(_chosen(logits.softmax(-1), top_k) == 0, -math.inf).softmax(-1)
        ),
    ),
    (
        "the softmax runs over the tokens, not over the experts",
        "Which numbers of your router's scores sum to 1?",
        lambda logits, top_k: _chosen(logits.softmax(1), top_k),
    ),
    (
        "the softmax runs over the tokens, not over the experts",
        "Which numbers of your router's scores sum to 1?",
        lambda logits, top_k: _divided(_chosen(logits.softmax(1), top_k)),
    ),
    (
        "the softmax runs over the tokens of all texts, not over the experts",
        "Which numbers of your router's scores sum to 1?",
        lambda logits, top_k: _chosen(logits.flatten(0, 1).softmax(0).view_as(logits), top_k),
    ),
    (
        "the softmax of those chosen runs over the tokens, not over the chosen experts",
        "Which numbers of your router's scores sum to 1?",
        lambda logits, top_k: _over_tokens(logits, top_k),
    ),
    (
        "the whole text goes where its mean goes: experts are chosen once, not for each token",
        "How many choices does your router make for five tokens?",
        lambda logits, top_k: gates(logits.mean(1, keepdim=True).expand_as(logits), top_k),
    ),
    (
        "all tokens go where the first one goes",
        "How many choices does your router make for five tokens?",
        lambda logits, top_k: gates(logits[:, :1].expand_as(logits), top_k),
    ),
    (
        "experts overwrite each other: of those chosen only the last one counts",
        "Is an expert's output added to what the others gave, or put in its place?",
        lambda logits, top_k: _last(gates(logits, top_k)),
    ),
    (
        "experts overwrite each other: of those chosen only the last one counts",
        "Is an expert's output added to what the others gave, or put in its place?",
        lambda logits, top_k: gates(logits, top_k) * (_chosen(logits, top_k) == _least(logits, top_k)),
    ),
    (
        "the weights belong to other experts than those that are used: they stand in sorted order",
        "topk gives two results. Which weight goes with which index?",
        lambda logits, top_k: _in_order(gates(logits, top_k)),
    ),
    (
        "the weights have changed places with each other",
        "topk gives two results. Which weight goes with which index?",
        lambda logits, top_k: _exchanged(gates(logits, top_k)),
    ),
)


def _over_tokens(logits: Tensor, top_k: int) -> Tensor:
    top = logits.topk(top_k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, top.indices, top.values.softmax(1))


def _least(logits: Tensor, top_k: int) -> Tensor:
    return logits.topk(top_k, dim=-1).values[..., -1:]


def _last(weights: Tensor) -> Tensor:
    """The weight of the chosen expert with the highest number, and no other."""
    later = (weights > 0).flip(-1).cumsum(-1).flip(-1)
    return weights * (later == 1)


def _in_order(weights: Tensor) -> Tensor:
    """The largest weight for the chosen expert of the lowest number, and so on."""
    places = (weights > 0).int().sort(dim=-1, descending=True, stable=True).indices
    return torch.zeros_like(weights).scatter(-1, places, weights.sort(dim=-1, descending=True).values)


def _exchanged(weights: Tensor) -> Tensor:
    """The largest weight for the expert with the lowest, and so on."""
    order = weights.argsort(-1, descending=True)
    count = (weights > 0).sum(-1, keepdim=True)
    turned = (count - 1 - torch.arange(weights.shape[-1])).remainder(weights.shape[-1])
    values = weights.gather(-1, order).gather(-1, turned)
    return torch.zeros_like(weights).scatter(-1, order, values * (torch.arange(weights.shape[-1]) < count))


def _mixture_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for style in likely(EXPERT_STYLES, parameters, partial(_mixture, gates, GATES[0][1], parameters)):
        parts = [network for _, network in (GATES[:2] if style.gated else PLAIN)]
        for name, hint, gate in WRONG_GATES:
            why = "each token goes through the top_k experts of its own highest scores, weighted by their softmax."
            mistake = named(name, why, hint, "experts that do not specialize, and weights of others that do not fit")
            for inside in parts:
                yield mistake, _mixture(gate, inside, parameters, style)
        for mistake, steps in of_gates() if style.gated else ():
            yield mistake, _mixture(gates, steps.gated, parameters, style)
        for mistake, wrong in () if style.gated else known("feed-forward network"):
            yield mistake, _mixture(gates, wrong, parameters, style)


def _expert_experiments(d_model: int) -> list[Experiment]:
    """At first all experts are chosen, so that every number counts; then a few."""
    x, some = drawn(2, 5, d_model), {"top_k": CHOSEN, "asks": "top_k"}
    return [
        Experiment("all experts", (x,)),
        Experiment("two experts", (x, CHOSEN), options=some),
        Experiment("two experts, one text", (x[:1], CHOSEN), options=some),
        Experiment("one expert", (3 * x, 1), options={"top_k": 1, "asks": "top_k"}),
        Experiment("300 tokens, two experts", (drawn(1, 300, d_model), CHOSEN), alone=LONG, options=some),
        Experiment("in training", (x, CHOSEN), how="training", alone=TRAINING, options=some),
    ]


MIXTURE = Kind(
    "mixture_of_experts",
    "cls(d_model, d_ff, num_experts, top_k); forward(x) on (batch, seq, d_model), weighted by the softmax of those",
    _expert_experiments(D_MODEL),
    _mixture_rights,
    _mixture_wrongs,
    options={"d_model": D_MODEL, "d_ff": D_FF, "num_experts": EXPERTS, "top_k": EXPERTS, "dropout": 0.0},
    call=lambda component, inputs: component(inputs[0]),
    least=2 * EXPERTS * D_MODEL * D_FF,
).at(
    _expert_experiments(18)[:3],
    2 * 6 * 18 * 26,
    d_model=18,
    d_ff=26,
    num_experts=6,
    top_k=6,
)

# ------------------------------------------------------------------ turned positions

ORDERS = {  # of the entries that are turned together, d_head of them: neighbours, or a half with the other
    "": lambda d: torch.arange(d).view(-1, 2).flip(1).flatten(),
    "it turns the other way round": lambda d: torch.arange(d),
    "it turns halves": lambda d: torch.arange(d).view(2, -1).T.flip(1).flatten(),
    "it turns halves, the other way round": lambda d: torch.arange(d).view(2, -1).T.flatten(),
}
LAYOUTS = {  # which dimension stands where the positions are expected
    "": 2,
    "positions run along its second dimension, as in (batch, len, heads, d_head)": 1,
    "positions run along its first dimension, as in (len, batch, heads, d_head)": 0,
}


def ordered(fn: Function, order: Function) -> Function:
    """A rotation of neighbours as one that turns other entries together."""

    def run(x: Tensor) -> Tensor:
        places = order(x.shape[-1])
        answer: Tensor = fn(x[..., places])[..., places.argsort()]
        return answer

    return run


def _turns(fn: Function) -> Iterator[tuple[str, Function]]:
    for name, order in ORDERS.items():
        for more, place in LAYOUTS.items():
            turning = ordered(fn, order)
            yield joined(name, more), lambda x, turning=turning, at=place: turning(x.transpose(at, 2)).transpose(at, 2)


def _angles_of_halves(x: Tensor, way: int = 1) -> Tensor:
    """Neighbours are paired, and the angles stand in the order of halves; one way round or the other."""
    u, v = x[..., 0::2], x[..., 1::2]
    beside = torch.stack([v, -u], dim=-1).flatten(-2)
    clocks = turn(torch.stack([torch.ones_like(u), torch.zeros_like(u)], dim=-1).flatten(-2))
    cos, sin = clocks[..., 0::2], -way * clocks[..., 1::2]
    return x * torch.cat([cos, cos], -1) + beside * torch.cat([sin, sin], -1)


def _used_again(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    first = u * cos + v * sin
    return first, v * cos - first * sin


def _used_again_back(u: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    first = u * cos - v * sin
    return first, v * cos + first * sin


WRITTEN_OVER = named(
    "the second entry of a pair is computed from the first one's new value",
    "both need the old values: keep a copy before one of them is written over.",
    "What does the second line of your rotation read, and has the first line changed it?",
    "vectors change their lengths",
)
HALVES = named(
    "the pairing is mixed: neighbours are paired, and the angles stand in the order of halves",
    "cat([angles, angles]) belongs to halves, repeat_interleave(2) to neighbours.",
    "Do the two entries of a pair turn by one angle?",
    "vectors change their lengths, and scores depend on where two tokens stand",
)
MIXED = (
    (HALVES, _angles_of_halves),
    (HALVES, partial(_angles_of_halves, way=-1)),
    (WRITTEN_OVER, partial(turn, pair=_used_again)),
    (WRITTEN_OVER, partial(turn, pair=_used_again_back)),
)


def _rotary_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    own = named(
        "positions are counted from 1",
        "the first token stands at position 0 and is not turned; scores are the same, weights with a cache are not.",
        "What comes out for the first token?",
        "none, until a cache or another implementation counts from 0",
    )
    base = named(
        "the base is not 10,000",
        "the slowest pair turns by 1 / base per position, nearly.",
        "Which number is raised to 2i / d?",
        "distances beyond a few tokens look alike, or weights of others do not fit",
    )
    twice = named(
        "the factor 2 is counted twice: frequencies fall from 1 to 1 / 10,000²",
        "the exponent of pair i is 2i / d_head, from 0 to just below 1.",
        "What is your largest exponent?",
        "the slow pairs hardly turn, and weights of others do not fit",
    )
    wrongs = [(own, partial(turn, start=1)), *((base, partial(turn, base=theta)) for theta in (1e3, 1e5, 5e5, 1e6))]
    wrongs.append((twice, partial(turn, base=1e8)))
    for mistake, wrong in (*known(ROTARY_CHECK.name), *MIXED, *wrongs):
        for _, fn in _turns(wrong):
            yield mistake, fn


FIVE = drawn(2, 3, 5, 8)
ROUNDED = "after .half() its angles are coarse: its frequencies are a buffer, which .half() rounds"
ROTARY = Kind(
    "rotary",
    "fn(x), or cls(d_head) called with x (batch, heads, len, d_head), turned by its positions from 0, base 10,000",
    [
        Experiment("two texts of five tokens, three heads", (FIVE,)),
        Experiment("one text", (drawn(1, 3, 5, 8),)),
        Experiment("one head", (drawn(2, 1, 7, 8),)),
        Experiment("300 tokens", (drawn(1, 2, 300, 8),), alone=LONG),
        Experiment(
            "410 tokens, where it was made for 400",
            (drawn(1, 2, 410, 8),),
            alone=BEYOND,
            options={"asks": "max_len", "may stop": True},
        ),
        Experiment("3,000 tokens", (drawn(1, 1, 3000, 8),), alone=LONG, options=FAR_OFF, tolerance=3e-2),
        Experiment("large numbers", (300 * FIVE,)),
        Experiment("after a longer text", (FIVE,), alone=KEPT, options={"before": (drawn(2, 3, 9, 8),)}),
        Experiment("after a shorter text", (FIVE,), alone=KEPT, options={"before": (drawn(2, 3, 2, 8),)}),
        Experiment("half precision", (drawn(1, 2, 300, 8),), how="half input", alone=COARSE, tolerance=3e-2),
        Experiment("after .half()", (drawn(1, 2, 300, 8),), how="half", alone=ROUNDED, tolerance=3e-2, remark=True),
    ],
    lambda parameters: _turns(turn),
    _rotary_wrongs,
    options={"d_head": 8, "max_len": 400},
    may_be_function=True,
    learns_nothing=True,
)

# ------------------------------------------------------------------ linear biases


def _read_biases(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    """What is added to the scores of what came before, against what is added to a token's own."""
    num_heads, length = inputs
    found = tensor_of(fn(num_heads, length)).float()
    found = found.reshape(found.shape[-3:]).expand(num_heads, length, length)
    own = found.diagonal(dim1=1, dim2=2)[..., None]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return (found - own).masked_fill(later, 0.0)


def _alibi_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for mistake, wrong in of_slopes():
        yield mistake, lambda heads, length, wrong=wrong: _read_biases(wrong, (heads, length))
    sign = next(mistake for mistake, _ in of_slopes() if "sign" in mistake.name)
    for mistake, wrong in of_slopes():
        both = replace(mistake, name=f"{sign.name}; and {mistake.name}", why=f"{sign.why} And: {mistake.why}")
        yield both, lambda heads, length, wrong=wrong: -_read_biases(wrong, (heads, length))


ALIBI = Kind(
    "alibi",
    "fn(num_heads, length) -> (num_heads, length, length), to be added to the scores: −2^(−8h/H) (q − k) for k ≤ q",
    [
        Experiment("eight heads, five tokens", (8, 5)),
        Experiment("four heads", (4, 6)),
        Experiment("16 heads", (16, 4), alone="it is wrong for 16 heads, and right for four and eight"),
        Experiment("one head", (1, 5)),
        Experiment("300 tokens", (2, 300), alone=LONG),
        Experiment(
            "six heads, no power of two",
            (6, 5),
            remark=True,
            alone="for other numbers of heads than powers of two its slopes are not those of the paper's code",
        ),
    ],
    lambda parameters: iter([("", lambda heads, length: _read_biases(alibi, (heads, length)))]),
    _alibi_wrongs,
    made=False,
    plain=True,
    call=_read_biases,
)

WINDOW = mask_kind(
    "window_mask",
    "fn(size, window) -> boolean mask (size, size), True = may attend: itself and the window − 1 tokens before it",
    window_mask,
    "window mask",
    [
        ("five tokens, a window of two", (5, 2)),
        ("seven tokens, a window of three", (7, 3)),
        ("a window of one", (4, 1)),
        ("a window longer than the text", (3, 8)),
        ("a window as long as the text", (5, 5)),
        ("three hundred tokens, a window of 20", (300, 20)),
    ],
)

# ------------------------------------------------------------------ sampling

LOGITS = torch.tensor([[0.0, 2.0, -1.0, 1.0, 0.3, -0.7], [5.0, 3.0, 4.0, -2.0, 0.5, 1.0]])
LIKELY = torch.tensor([[0.0, 3.0, 1.0, 0.5], [0.2, 0.1, 6.0, 0.0]])


def _read_probabilities(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    """What may be drawn, as probabilities: of logits, their softmax."""
    found = tensor_of(fn(*inputs)).double()
    sums = found.sum(-1)
    if bool((found >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        return found
    low = found.masked_fill(found < -1e4, -math.inf)
    return low.softmax(-1) if bool((low == -math.inf).any()) or bool((found < 0).any()) else found


def _cut(logits: Tensor, kept: Tensor) -> Tensor:
    return logits.masked_fill(~kept, -math.inf).softmax(-1)


FROM_THE_FIRST = named(
    "the first row's threshold cuts all rows",
    "each row has a k-th largest value of its own.",
    "Which shape has your threshold?",
    "with several texts, more or fewer than k tokens are kept",
)
FROM_THE_BATCH = named(
    "one threshold, the lowest of the batch, cuts all rows",
    "each row has a k-th largest value of its own: min() without a dimension takes the smallest of all.",
    "Which shape has your threshold?",
    "with several texts, more than k tokens are kept",
)
OTHER_VALUES = named(
    "the chosen places get the row's first logits, not their own",
    "scatter takes from its source in order; topk gives the values that belong to its indices.",
    "Which numbers does your scatter put back?",
    "the right tokens, drawn with the chances of others",
)
CUTS = tuple(
    entry(
        name,
        "tokens are sorted, the likeliest first; kept are those before which less than p has been reached, and "
        "they go back to their own places.",
        hint,
        "unlikely tokens are drawn, or likely ones never",
        partial(probabilities, p_kept=wrong),
    )
    for name, hint, wrong in (
        (
            "what is cut in sorted order is not put back in the order of the vocabulary",
            "sort gives two results. What is the second one for?",
            lambda logits, p: _reached(logits) < p,
        ),
        (
            "what is cut in sorted order is not put back in the order of the vocabulary",
            "sort gives two results. What is the second one for?",
            lambda logits, p: logits.softmax(-1).sort(-1).values.cumsum(-1) > 1 - p,
        ),
        (
            "sorting is undone by the order itself, not by its inverse",
            "gather takes from places, scatter puts to places. Which one undoes a sort?",
            lambda logits, p: (_reached(logits) < p).gather(-1, logits.sort(-1, descending=True).indices),
        ),
        (
            "the probabilities are added up over the texts of the batch, not over the tokens",
            "Along which dimension does your cumsum run?",
            lambda logits, p: _back(logits, _own(logits).cumsum(0) - _own(logits) < p, True),
        ),
        (
            "what is cut from one text is cut from all",
            "Which row of your mask does the second text get?",
            lambda logits, p: _back(logits, _reached(logits) < p, True).all(0, keepdim=True).expand(logits.shape),
        ),
        (
            "sorted upwards, it cuts what sums to p, not what sums to 1 − p",
            "How much of the probability may be cut?",
            lambda logits, p: _back(logits, logits.softmax(-1).sort(-1).values.cumsum(-1) > p, False),
        ),
        (
            "the number of tokens is p of the vocabulary, whatever their probabilities",
            "Does how many tokens you keep change with the logits?",
            lambda logits, p: _back(logits, torch.arange(logits.shape[-1]) < p * logits.shape[-1], True),
        ),
        (
            "the likeliest token is cut, too, where it reaches p alone",
            "What does your function keep where one token has nearly all the probability?",
            lambda logits, p: _back(logits, _reached(logits)[..., torch.arange(logits.shape[-1]).clamp(1)] <= p, True),
        ),
        (
            "the token that reaches p is cut: what is kept does not reach it",
            "Do the kept tokens reach p?",
            lambda logits, p: _back(
                logits, (_reached(logits) + _own(logits) <= p) | (torch.arange(logits.shape[-1]) < 1), True
            ),
        ),
        (
            "one token more is kept than it takes to reach p",
            "Do the kept tokens reach p without the last of them?",
            lambda logits, p: _back(logits, _reached(logits) - _before(logits) < p, True),
        ),
    )
)


def _reached(logits: Tensor) -> Tensor:
    """What the likelier tokens have reached before each, in sorted order."""
    return _own(logits).cumsum(-1) - _own(logits)


def _gathered(logits: Tensor, p: float) -> Tensor:
    ordered, places = logits.softmax(-1).sort(-1, descending=True)
    kept = ordered * (_reached(logits) < p)
    return (kept / kept.sum(-1, keepdim=True)).gather(-1, places)


def _own(logits: Tensor) -> Tensor:
    """The probabilities in sorted order."""
    return logits.softmax(-1).sort(-1, descending=True).values


def _before(logits: Tensor) -> Tensor:
    """The probability of the token before each, in sorted order."""
    return torch.cat([0 * _own(logits)[..., :1], _own(logits)[..., :-1]], -1)


def _back(logits: Tensor, kept: Tensor, descending: bool) -> Tensor:
    places = logits.sort(-1, descending=descending).indices
    return torch.zeros_like(logits, dtype=torch.bool).scatter(-1, places, kept.expand(logits.shape))


def _sampling(name: str, is_called: str, values: tuple[Any, ...], least: Any, place: int) -> Kind:
    def alone(fn: Function) -> Function:
        return lambda logits, value: fn(logits, 1.0, *((None,) * place), value, *((None,) * (1 - place)))

    def wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
        for mistake, wrong in (*known("sampling probabilities"), *(CUTS if place else ())):
            yield mistake, alone(wrong)
        if place:
            yield CUTS[1][0], _gathered
        if not place:
            empty = torch.full_like(LOGITS[:1, :1], -math.inf)
            yield (
                OTHER_VALUES,
                lambda logits, k: empty.expand(logits.shape).scatter(-1, logits.topk(k).indices, logits).softmax(-1),
            )
            yield FROM_THE_FIRST, lambda logits, k: _cut(logits, logits >= logits.topk(k).values[:1, -1:])
            yield FROM_THE_BATCH, lambda logits, k: _cut(logits, logits >= logits.topk(k).values.min())

    texts = [Experiment(f"two texts, {name[-1]} = {cutoff}", (LOGITS, cutoff)) for cutoff in values]
    more = [
        Experiment("one text", (LOGITS[1:], values[0])),
        Experiment("one token is likelier than all others", (LIKELY, values[-1])),
        Experiment(f"{name[-1]} = {least}, which keeps every token", (LOGITS, least)),
        Experiment("50 tokens", (drawn(3, 50).sort(0, descending=True).values, values[0])),
    ]
    return Kind(
        name,
        is_called,
        [*texts, *more],
        lambda parameters: iter([("", alone(probabilities))]),
        wrongs,
        made=False,
        plain=True,
        call=_read_probabilities,
    )


TOP_K = _sampling(
    "top_k",
    "fn(logits, k) -> probabilities (batch, vocab), or logits with −inf where nothing may be drawn",
    (2, 3, 1),
    6,
    0,
)
TOP_P = _sampling(
    "top_p",
    "fn(logits, p) -> as top_k: the fewest likeliest tokens that reach p together",
    (0.8, 0.5, 0.9),
    1.0,
    1,
)
KINDS = [GATED, MIXTURE, ROTARY, ALIBI, WINDOW, TOP_K, TOP_P]

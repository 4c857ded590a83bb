"""Attention as later models have it: capped scores, sinks, normed queries and keys, keys and values of a latent."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from transformer_edu.book.exercises.checks.components import attention
from transformer_edu.book.exercises.checks.components.multi_head_split import split_heads
from transformer_edu.book.exercises.checks.components.rotary import turn
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import Experiment
from transformer_edu.book.exercises.judge.kind import Function, Kind, Parameters, joined, known
from transformer_edu.book.exercises.judge.kinds.attention import SLOTS, attention_experiments
from transformer_edu.book.exercises.judge.kinds.decoder_only import (
    SIZES,
    WIDER,
    attention_kind,
    kind_of,
    settings_of_attention,
)
from transformer_edu.book.exercises.judge.kinds.modern import ORDERS, ordered
from transformer_edu.book.exercises.judge.making import by_name
from transformer_edu.book.exercises.judge.mistakes import Wrong, entry, named, of_attention, of_rms
from transformer_edu.book.exercises.judge.mistakes_since import of_sight, of_turns
from transformer_edu.book.exercises.judge.model import (
    Affine,
    Heads,
    Parts,
    Shapes,
    Steps,
    Style,
    by_norm,
    normed_heads,
    of_itself,
    rms_norm,
    styles,
)
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.parts import soft_cap

attend_in_steps: Function = attention.attend

# ------------------------------------------------------------------ functions with one more argument

CAP = 1.5  # small enough to be met by ordinary scores
Scores = Callable[[Tensor, Any], Tensor]


def _with(more: Callable[[int], Any], experiment: Experiment) -> Experiment:
    """An experiment with one more input, which depends on the number of heads, in front of the mask."""

    def placed(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*inputs[:3], more(inputs[0].shape[1]), *inputs[3:])

    options = dict(experiment.options)
    if "before" in options:
        options["before"] = placed(options["before"])
    return replace(experiment, inputs=placed(experiment.inputs), options=options)


def _function_kind(
    name: str,
    is_called: str,
    argument: tuple[str, str],
    more: Callable[[int], Any],
    right: Callable[[Any], dict[str, Function]],
    own: list[tuple[str, str, str, Function]],
    symptom: str,
) -> Kind:
    """An attention function with one more argument, of which `right` makes the steps that are replaced.

    `own` mistakes have name, why, hint and a function as it is called; to those come the mistakes of attention.
    """

    def attends(q: Tensor, k: Tensor, v: Tensor, given: Any, mask: Tensor | None = None, fn: Any = None) -> Any:
        return (fn or attend_in_steps)(q, k, v, mask, **right(given))

    def wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
        for what, why, hint, wrong in own:
            yield named(what, why, hint, symptom), wrong
        for mistake, wrong in known("attention"):
            if not set(wrong.keywords) & set(right(more(1))):
                yield mistake, partial(attends, fn=wrong)

    slots = {slot: SLOTS[slot] for slot in ("query", "key", "value")} | dict([argument]) | {"mask": SLOTS["mask"]}
    return Kind(
        name,
        is_called,
        [_with(more, experiment) for experiment in attention_experiments()],
        lambda parameters: iter([("", attends)]),
        wrongs,
        made=False,
        call=partial(by_name, slots=slots),
    )


def _capped(cap: float) -> dict[str, Function]:
    return {"change": lambda scores: soft_cap(scores, cap)}


def _by(**steps: Callable[[Any], Function]) -> Function:
    """Attention whose steps are made of the additional argument."""

    def run(q: Tensor, k: Tensor, v: Tensor, given: Any, mask: Tensor | None = None) -> Any:
        return attend_in_steps(q, k, v, mask, **{name: step(given) for name, step in steps.items()})

    return run


def _scores(inside: Scores) -> Function:
    return _by(change=lambda cap: lambda scores: inside(scores, cap))


def _before_the_mask(cap: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, mask: soft_cap(scores.masked_fill(~mask, -1e9), cap)


def _capped_before_scaling(q: Tensor, k: Tensor, v: Tensor, cap: float, mask: Tensor | None = None) -> Any:
    root = math.sqrt(q.shape[-1])
    return _scores(lambda scores, cap: soft_cap(scores * root, cap) / root)(q, k, v, cap, mask)


TANH = "cap · tanh(score / cap) is the score where it is small, and never beyond ±cap."
CAP_MISTAKES: list[tuple[str, str, str, Function]] = [
    (
        "the cap is not used",
        TANH,
        "Which argument of your function does the result not depend on?",
        _scores(lambda scores, cap: scores),
    ),
    (
        "the mask comes before the cap: what is blocked gets the score −cap",
        "tanh makes of −∞ a −1: a blocked key has the score −cap, and e^(−cap) is not 0. Cap first, then mask.",
        "What is your score of a blocked key behind the tanh?",
        lambda q, k, v, cap, mask=None: (
            _scores(soft_cap)(q, k, v, cap)
            if mask is None
            else attend_in_steps(q, k, v, mask, hide=_before_the_mask(cap), zeroed=False)
        ),
    ),
    (
        "the tanh is not multiplied by the cap",
        TANH,
        "How large can your scores become with a cap of 50?",
        _scores(lambda scores, cap: (scores / cap).tanh()),
    ),
    (
        "the scores are not divided by the cap before the tanh",
        TANH,
        "What becomes of a score of 2 with a cap of 50?",
        _scores(lambda scores, cap: cap * scores.tanh()),
    ),
    (
        "the scores are multiplied by the cap before the tanh and divided by it afterwards",
        TANH,
        "How large can your scores become with a cap of 50?",
        _scores(lambda scores, cap: (scores * cap).tanh() / cap),
    ),
    (
        "the scores are cut off at ±cap, not bent",
        f"{TANH} Where a clamp cuts, no gradient passes.",
        "Which gradient has a score far beyond your cap?",
        _scores(lambda scores, cap: scores.clamp(-cap, cap)),
    ),
    (
        "the scores are cut off from above only",
        TANH,
        "What becomes of a score of −1,000?",
        _scores(lambda scores, cap: scores.clamp(max=cap)),
    ),
    (
        "the scores are bent by another function than tanh",
        TANH,
        "What becomes of a score as large as the cap?",
        _scores(lambda scores, cap: scores / (1 + scores.abs() / cap)),
    ),
    (
        "the cap comes before the division by √d_head",
        f"{TANH} Here it bends what has not been scaled yet.",
        "Which comes first: the division by √d_head, or the cap?",
        _capped_before_scaling,
    ),
    (
        "the weights are capped, not the scores",
        TANH,
        "Does your tanh stand before the softmax or behind it?",
        _by(normalize=lambda cap: lambda scores: soft_cap(scores.softmax(-1), cap)),
    ),
    (
        "the output is capped, not the scores",
        TANH,
        "Does your tanh stand before the softmax or behind it?",
        lambda q, k, v, cap, mask=None: soft_cap(attend_in_steps(q, k, v, mask)[0], cap),
    ),
    (
        "the cap is a number of its own: the argument is not used",
        "models differ in it: 50 for scores and 30 for logits in Gemma 2.",
        "Which argument of your function does the result not depend on?",
        _scores(lambda scores, cap: soft_cap(scores, 50)),
    ),
]
CAPPED = _function_kind(
    "capped_attention",
    "fn(query, key, value, cap, mask=None), as attention, scores become cap · tanh(score / cap) before the mask",
    ("cap", "cap|soft|bound|limit"),
    lambda num_heads: CAP,
    _capped,
    CAP_MISTAKES,
    "scores that grow without end in long trainings, or keys that were blocked and are seen",
)

# ------------------------------------------------------------------ sinks


def _sunk(sinks: Tensor, change: Function = lambda sinks: sinks) -> dict[str, Function]:
    """A softmax with one more score for each head, which leads to no value."""

    def weigh(scores: Tensor) -> Tensor:
        one = change(sinks)[:, None, None].to(scores.dtype).expand(*scores.shape[:-1], 1)
        return torch.cat([scores, one], -1).softmax(-1)[..., :-1]

    return {"normalize": weigh}


def _other_sinks(change: Function) -> Function:
    return lambda q, k, v, sinks, mask=None: attend_in_steps(q, k, v, mask, **_sunk(sinks, change))


def _weighs(weigh: Callable[[Tensor, Tensor], Tensor]) -> Function:
    """`weigh(scores, sinks)`, sinks (heads, 1, 1) -> weights."""
    return _by(normalize=lambda sinks: lambda scores: weigh(scores, sinks[:, None, None]))


def _below_the_line(added: Function, least: float = -math.inf) -> Function:
    """A softmax without the largest score, or sink where that counts, with `added(sinks)` below the line."""

    def weigh(scores: Tensor, sinks: Tensor) -> Tensor:
        powers = (scores - scores.amax(-1, keepdim=True).maximum(sinks + least)).exp()
        return powers / (powers.sum(-1, keepdim=True) + added(sinks))

    return _weighs(weigh)


def _one_key_further(
    q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor | None = None, behind: bool = False
) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    sink = sinks[:, None, None].expand(*scores.shape[:-1], 1)
    weights = torch.cat([scores, sink] if behind else [sink, scores], -1).softmax(-1)
    return (weights[..., 1:] if behind else weights[..., :-1]) @ v


def _to_a_token(place: int) -> Function:
    def run(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor | None = None) -> Tensor:
        _, weights = attend_in_steps(q, k, v, mask, **_sunk(sinks))
        left: Tensor = 1 - weights.sum(-1, keepdim=True)
        return weights @ v + left * (v[..., place, :][..., None, :] if place else v.mean(-2, keepdim=True))

    return run


def _only_without_a_mask(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor | None = None) -> Any:
    return attend_in_steps(q, k, v, mask, **(_sunk(sinks) if mask is None else {}))


def _scaled_sinks(q: Tensor, k: Tensor, v: Tensor, sinks: Tensor, mask: Tensor | None = None) -> Any:
    return attend_in_steps(q, k, v, mask, **_sunk(sinks / math.sqrt(q.shape[-1])))


EXTRA = "the softmax runs over the tokens' scores and the head's sink; the sink's share goes to nobody."
SINK_MISTAKES: list[tuple[str, str, str, Function]] = [
    (
        "the sinks change nothing",
        f"{EXTRA} Left out, added to every score, or taken away before the weights are divided by their sum, it has no "
        "effect.",
        "What do the weights of one query sum to?",
        lambda q, k, v, sinks, mask=None: attend_in_steps(q, k, v, mask),
    ),
    (
        "the sinks are divided by √d_head, as if they were dot products",
        "a sink is a score as it is; only query times key is divided.",
        "Which of your scores are divided by √d_head?",
        _scaled_sinks,
    ),
    (
        "the sink itself, not its exponential, is added below the line",
        "in the softmax's sum each score stands as e^score, the sink as well.",
        "What does a sink of −5 do to your sum?",
        _below_the_line(lambda sinks: sinks),
    ),
    (
        "the largest score is taken away from the scores, and not from the sink",
        f"{EXTRA} Whatever is taken away before the exponential is taken from every score, the sink's included.",
        "Does your sink's share change when you add 100 to all scores and to the sink?",
        _below_the_line(torch.exp),
    ),
    (
        "all heads have the first one's sink",
        "each head has learned a sink of its own.",
        "Which entry of sinks does the second head use?",
        _other_sinks(lambda sinks: sinks[:1].expand(sinks.shape)),
    ),
    (
        "all heads have one sink, the mean of all",
        "each head has learned a sink of its own.",
        "Which entry of sinks does the second head use?",
        _other_sinks(lambda sinks: sinks.mean().expand(sinks.shape)),
    ),
    (
        "the sink is 0, whatever `sinks` says",
        "a one below the line is the sink 0; here it is learned, and e^sink stands there.",
        "Which argument of your function does the result not depend on?",
        _other_sinks(torch.zeros_like),
    ),
    (
        "the sign of the sinks is wrong",
        EXTRA,
        "Should a larger sink take more attention or less?",
        _other_sinks(torch.neg),
    ),
    (
        "the weights are moved by one key: the sink stands in front, and what is cut off is the last key",
        "cut off the column that the sink stands in.",
        "In which column of the softmax is your sink, and which do you take away?",
        _one_key_further,
    ),
    (
        "the weights are moved by one key: the sink stands behind, and what is cut off is the first key",
        "cut off the column that the sink stands in.",
        "In which column of the softmax is your sink, and which do you take away?",
        partial(_one_key_further, behind=True),
    ),
    (
        "where there is a mask, the sinks are blocked, too",
        "a mask says which tokens may be seen; the sink may always be.",
        "How many columns has your mask, and how many have your scores?",
        _only_without_a_mask,
    ),
    (
        "the sink's share goes to the last token",
        EXTRA,
        "Which value belongs to your additional score?",
        _to_a_token(-1),
    ),
    (
        "the sink's share goes to all tokens alike",
        EXTRA,
        "Which value belongs to your additional score?",
        _to_a_token(0),
    ),
    (
        "the weights are multiplied by a gate, not weighed against a sink",
        EXTRA,
        "Does the sink's share depend on the query?",
        _weighs(lambda scores, sinks: scores.softmax(-1) * torch.sigmoid(-sinks)),
    ),
]
SINK_MISTAKES.append((*SINK_MISTAKES[3][:3], _below_the_line(torch.exp, least=0.0)))
SINK = _function_kind(
    "sink_attention",
    "fn(query, key, value, sinks, mask=None), as attention, with one more score a head, sinks (heads,), for no value",
    ("sinks", "sink|extra|null|off"),
    lambda num_heads: torch.linspace(-1.0, 1.5, num_heads),
    _sunk,
    SINK_MISTAKES,
    "heads that have nothing to say speak all the same, and weights of others do not fit",
)

# ------------------------------------------------------------------ norms of queries and keys

NORMED = styles(
    attention=("none", "all", "out", "qkv"), positions=("", "turned"), normed=("head", "all", "each", "shared", "bare")
)
MACHINE = [torch.finfo(dtype).eps for dtype in (torch.float32, torch.float64)]  # what torch's own norm adds unless told
NORM_REMARKS = {
    "head": "",
    "all": "its norms run over all heads together (as in OLMo 2), not over each",
    "each": "each head has gains of its own",
    "shared": "queries and keys share one gain",
    "bare": "its norms have no gain",
}
UNTOLD = {"": "it knows no positions: queries and keys are not turned", "turned": ""}
Sized = Callable[[Heads, Tensor, Tensor], tuple[Tensor, Tensor]]


def _normed(steps: Steps, sizes: Mapping[str, Any], style: Style) -> Reference:
    if steps.sized is normed_heads:
        steps = replace(steps, sized=by_norm(rms_norm))
    return of_itself(steps, sizes, style, layer=False)


def _epsilons(parameters: Parameters) -> list[float]:
    """A norm's own, where it says so, and others that are usual."""
    return list(dict.fromkeys((parameters.eps, 1e-6, 1e-5, 1e-8, *MACHINE)))


def _of_normed(style: Style, parameters: Parameters, usual: bool = False) -> Iterator[tuple[str, Steps]]:
    """The right ways of an attention with norms of its queries and keys."""
    if style.normed == "shared" and parameters.alive < len(parameters.numbers) and not usual:
        return  # the other gain is there, and nothing uses it
    for remark, steps in settings_of_attention(style, parameters, usual=usual):
        for eps in _epsilons(parameters)[: 1 if usual else None]:
            told = joined(remark, NORM_REMARKS[style.normed], UNTOLD[style.positions])
            yield told, replace(steps, sized=by_norm(partial(rms_norm, eps=eps)))


def _alone(place: int, norm: Callable[[Tensor, Tensor], Tensor]) -> Sized:
    def sized(heads: Heads, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        both = by_norm(norm)(heads, q, k)
        return (both[0], k) if place == 0 else (q, both[1])

    return sized


def _of_each_head(over: Callable[[Tensor], Tensor], eps: float) -> Sized:
    """Norms whose root is taken of other numbers than one head's."""
    return by_norm(lambda x, gamma: x / (over(x.double()) + eps).sqrt().to(x.dtype) * gamma)


def _values_too(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return Steps().attend(q, k, rms_norm(v, torch.ones(())), mask)


def _of_norms(eps: float) -> Iterator[Wrong]:
    """Norms of queries and keys."""
    norm = partial(rms_norm, eps=eps)
    one = "queries and keys are normalized, each head's numbers by the root of their mean square, before they turn."
    symptom = "scores that grow with training, or weights of others that do not fit"
    for name, hint, sized in (
        ("only the queries are normalized, not the keys", "Which of Q and K go through a norm?", _alone(0, norm)),
        ("only the keys are normalized, not the queries", "Which of Q and K go through a norm?", _alone(1, norm)),
        ("queries and keys are not normalized", "Which of Q and K go through a norm?", lambda heads, q, k: (q, k)),
        (
            "the keys go through the queries' norm, whose gain is another",
            "Which gain do your keys get?",
            lambda heads, q, k: (normed_heads(heads, q, q, norm)[0], normed_heads(heads, k, k, norm)[0]),
        ),
        (
            "the norm runs over all heads together, with a gain of one head",
            "Over how many numbers does your mean square run?",
            _of_each_head(lambda x: (x**2).mean((1, 3), keepdim=True), eps),
        ),
        (
            "the norm runs over the heads, not over a head's numbers",
            "Over which dimension does your mean square run?",
            _of_each_head(lambda x: (x**2).mean(1, keepdim=True), eps),
        ),
        (
            "the norm runs over the tokens, not over a head's numbers",
            "Over which dimension does your mean square run?",
            _of_each_head(lambda x: (x**2).mean(2, keepdim=True), eps),
        ),
        (
            "the norm runs over the tokens, too",
            "Over which dimension does your mean square run?",
            _of_each_head(lambda x: (x**2).mean((2, 3), keepdim=True), eps),
        ),
        (
            "vectors get the length 1: they are divided by their length, not by its root mean square",
            "How long is a normalized vector of four numbers: 1, or 2?",
            by_norm(lambda x, gamma: normalize(x, dim=-1) * gamma),
        ),
    ):
        yield named(name, one, hint, symptom), Steps(sized=sized)
    yield (
        named("the norm comes after the turn", one, "Which comes first, the norm or the rotation?", symptom),
        Steps(sized=lambda heads, q, k: by_norm(norm)(heads, turn(q), turn(k)), turn=lambda x: x),
    )
    yield (
        named("the values are normalized, too", one, "Which of Q, K and V go through a norm?", symptom),
        Steps(attend=_values_too),
    )
    for mistake, wrong in of_rms():
        yield mistake, Steps(sized=by_norm(partial(wrong, eps=eps)))


NORMED_ATTENTION = attention_kind(
    kind_of(
        "qk_norm_attention",
        "cls(d_model, num_heads, dropout=0.0); forward(x, mask=None), sees nothing later, "
        "RMS norms of each head's Q and K",
        NORMED,
        _normed,
        _of_normed,
        partial(_of_normed, usual=True),
        lambda parameters: (
            *of_sight(True),
            *chain.from_iterable(map(_of_norms, dict.fromkeys((parameters.eps, 1e-6, MACHINE[0])))),
            *of_turns(),
            *of_attention(),
        ),
    ),
    SIZES,
    WIDER,
    lambda sizes: 4 * sizes["d_model"] ** 2,
)

# ------------------------------------------------------------------ keys and values of a latent

LATENTS = styles(attention=("none", "all", "out"), norm=("gain", "none", "joint"), positions=("turned", ""))
UNNORMED = "the latents are not normalized, as they are in DeepSeek-V2"
BARE = "the latents' norm has no gain"


def _shapes_of_latent(sizes: Mapping[str, Any], style: Style) -> Shapes:
    d_model, heads, rank = sizes["d_model"], sizes["num_heads"], sizes["rank"]
    d_head, turned = d_model // heads, style.positions == "turned"
    shapes: Shapes = {"q": (d_model, heads, d_head), "down": (d_model, rank)}
    shapes |= (
        {"q_turned": (d_model, heads, sizes["d_turned"]), "k_turned": (d_model, sizes["d_turned"])} if turned else {}
    )
    shapes |= {"k": (rank, heads, d_head), "v": (rank, heads, d_head), "o": (heads, d_head, d_model)}
    biased = {"all": tuple(shapes), "out": ("o",), "none": ()}[style.attention]
    shapes |= {f"{name}_bias": shapes[name][1:] if name != "o" else (d_model,) for name in biased}
    gains = rank + (sizes["d_turned"] if style.norm == "joint" and turned else 0)
    return shapes | ({} if style.norm == "none" else {"latent_gain": (gains,)})


def _whole(q: Tensor, q_turned: Tensor | None, k: Tensor, k_turned: Tensor | None, turned: Function) -> Any:
    """Queries and keys (batch, heads, seq, d_head + d_turned); the keys' turned part is one for all heads."""
    if q_turned is None or k_turned is None:
        return q, k
    return torch.cat([q, turned(q_turned)], -1), torch.cat([k, turned(k_turned).expand(*k.shape[:-1], -1)], -1)


def _latent(steps: Steps, sizes: Mapping[str, Any], style: Style) -> Reference:
    heads = sizes["num_heads"]
    d_head = sizes["d_model"] // heads

    def run(p: Parts, x: Tensor, mask: Tensor | None = None) -> Any:
        def through(name: str, x: Tensor) -> Tensor:
            bias = p.get(f"{name}_bias")
            return Affine(p[name].flatten(1), None if bias is None else bias.flatten())(x)

        turned = through("k_turned", x) if style.positions == "turned" else None
        latent, turned = steps.latent(through("down", x), turned, p.get("latent_gain"))
        q, k, v = (steps.split(through(name, of), heads) for name, of in (("q", x), ("k", latent), ("v", latent)))
        parts: tuple[Tensor | None, Tensor | None] = (None, None)
        if turned is not None:
            parts = split_heads(through("q_turned", x), heads), turned[:, None]
        whole_q, whole_k = steps.join(q, parts[0], k, parts[1], steps.turn)
        found = steps.attend(whole_q, whole_k, v, steps.mask(steps.see(mask, x.shape[1])))
        found = found[0] if isinstance(found, tuple) else found
        return Affine(p["o"].flatten(0, 1), p.get("o_bias"))(steps.merge(found))

    dead = heads * d_head if style.attention == "all" else 0
    return Reference(_shapes_of_latent(sizes, style), run, dead, faint=style.norm != "none")


def _of_latent(style: Style, parameters: Parameters, usual: bool = False) -> Iterator[tuple[str, Steps]]:
    """The right ways of latent attention; a "joint" norm, of the latent and the turned part, is none."""
    if style.norm == "joint" and not usual:
        return
    norms: list[tuple[str, Function]] = [(UNNORMED, lambda x, gain: x)] if style.norm == "none" else []
    told = BARE if style.norm == "none" else ""
    norms += [(told, partial(rms_norm, eps=eps)) for eps in _epsilons(parameters)]
    for remark, steps in settings_of_attention(style, parameters, usual=usual):
        for more, norm in [norms[0], norms[-1]] if usual else norms:
            yield joined(remark, more), replace(steps, join=_whole, latent=_latent_by(norm))


def _latent_by(norm: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Any]]:
    return lambda latent, turned, gain: (norm(latent, torch.ones(()) if gain is None else gain), turned)


def _together(eps: float, latent: Tensor, turned: Tensor | None, gain: Tensor | None) -> tuple[Tensor, Any]:
    """One norm of both parts, with a gain of both, of the latent, or of none."""
    both = latent if turned is None else torch.cat([latent, turned], -1)
    both, count = rms_norm(both, torch.ones(()), eps), 0 if gain is None else len(gain)
    both = both if gain is None else torch.cat([both[..., :count] * gain, both[..., count:]], -1)
    return both[..., : latent.shape[-1]], None if turned is None else both[..., latent.shape[-1] :]


def _first_head_alone(k_turned: Tensor, k: Tensor) -> Tensor:
    later = k_turned.new_zeros(k.shape[0], k.shape[1] - 1, *k_turned.shape[2:])
    return torch.cat([k_turned, later], 1)


def _joins() -> Iterator[tuple[str, str, Function]]:
    """Other ways to join queries and keys of their two parts."""

    def joined_by(change: Function) -> Function:
        def join(q: Tensor, q_turned: Tensor | None, k: Tensor, k_turned: Tensor | None, turned: Function) -> Any:
            if q_turned is None or k_turned is None:
                return q, k
            return change(q, q_turned, k, k_turned, turned)

        return join

    def all_turned(q: Tensor, q_turned: Tensor, k: Tensor, k_turned: Tensor, turned: Function) -> Any:
        return tuple(turned(vector) for vector in _whole(q, q_turned, k, k_turned, lambda x: x))

    which = "Which part of a query and of a key goes through your rotation?"
    yield (
        "the keys' part that should turn is not turned",
        which,
        joined_by(lambda q, qt, k, kt, turned: (torch.cat([q, turned(qt)], -1), _whole(q, qt, k, kt, lambda x: x)[1])),
    )
    yield (
        "the queries' part that should turn is not turned",
        which,
        joined_by(lambda q, qt, k, kt, turned: (torch.cat([q, qt], -1), _whole(q, qt, k, kt, turned)[1])),
    )
    yield (
        "neither queries nor keys are turned",
        which,
        joined_by(lambda q, qt, k, kt, turned: _whole(q, qt, k, kt, lambda x: x)),
    )
    yield "queries and keys are turned whole, not only their part for positions", which, joined_by(all_turned)
    yield (
        "the parts that are not turned turn, the others do not",
        which,
        joined_by(
            lambda q, qt, k, kt, turned: (
                torch.cat([turned(q), qt], -1),
                torch.cat([turned(k), kt.expand(*k.shape[:-1], -1)], -1),
            )
        ),
    )
    yield (
        "queries and keys are joined in different orders: their parts do not meet",
        "Which part of a key stands where the turned part of a query stands?",
        joined_by(
            lambda q, qt, k, kt, turned: (
                torch.cat([q, turned(qt)], -1),
                torch.cat([turned(kt).expand(*k.shape[:-1], -1), k], -1),
            )
        ),
    )
    yield (
        "only the first head gets the turned part of the keys",
        "How many heads use the one turned part?",
        joined_by(
            lambda q, qt, k, kt, turned: (
                torch.cat([q, turned(qt)], -1),
                torch.cat([k, _first_head_alone(turned(kt), k)], -1),
            )
        ),
    )
    yield (
        "the turned part is not used: scores do not know about positions",
        "Which of your projections' results does the score not depend on?",
        joined_by(lambda q, qt, k, kt, turned: (q, k)),
    )
    yield (
        "the turned part is added, not joined",
        "How many numbers has a query, with its turned part?",
        joined_by(lambda q, qt, k, kt, turned: _added(q, turned(qt), k, turned(kt))),
    )


def _in_order(join: Function, order: Function, q: Tensor, qt: Any, k: Tensor, kt: Any, turned: Function) -> Any:
    return join(q, qt, k, kt, ordered(turned, order))


def _added(q: Tensor, q_turned: Tensor, k: Tensor, k_turned: Tensor) -> tuple[Tensor, Tensor]:
    """Where the two parts are of one length; else the first numbers alone."""
    size = q_turned.shape[-1]
    pad = q.new_zeros(*q.shape[:-1], q.shape[-1] - size)
    return q + torch.cat([q_turned, pad], -1), k + torch.cat([k_turned.expand(*k.shape[:-1], -1), pad], -1)


def _scaled_by_a_part(sizes: Mapping[str, Any], part: str) -> Function:
    size = sizes["d_model"] // sizes["num_heads"] if part == "d_head" else sizes[part]
    return lambda q, k, v, mask=None: Steps().attend(q * (q.shape[-1] / size) ** 0.5, k, v, mask)


def _of_latents(parameters: Parameters) -> Iterator[Wrong]:
    """Attention by latents."""
    why = "scores are [q, turned q] · [k, turned k] / √(d_head + d_turned); k and v come of the latent alone."
    symptom = "scores that do not know the distance between two tokens, and weights of others that do not fit"
    for name, hint, join in _joins():
        for order in ORDERS.values():  # where the parts do not meet, it matters which numbers turn together
            yield named(name, why, hint, symptom), Steps(join=partial(_in_order, join, order))
    for part, words in (
        ("d_head", "√d_head, without the turned part"),
        ("d_turned", "the root of the turned part"),
        ("rank", "the root of the latents' rank"),
    ):
        yield entry(
            f"the scores are divided by {words}",
            why,
            "Over how many numbers does one head's dot product run?",
            "weights that are too sharp",
            Steps(attend=_scaled_by_a_part(parameters.sizes, part)),
        )
    for eps in dict.fromkeys((parameters.eps, 1e-6, MACHINE[0])):
        yield entry(
            "the turned part of the keys goes through the latents' norm, too",
            why,
            "Over which numbers does your norm's mean square run?",
            symptom,
            Steps(latent=partial(_together, eps)),
        )
    yield entry(
        "the latents are not normalized, although there is a norm",
        "keys and values are made of the normalized latent.",
        "What goes into your second matrix: the latent, or what its norm gives?",
        symptom,
        Steps(latent=lambda latent, turned, gain: (latent, turned)),
    )
    for mistake, wrong in of_rms():
        yield mistake, Steps(latent=_latent_by(partial(wrong, eps=1e-6)))
    for name, attend in (
        ("the values are the keys", lambda q, k, v, mask=None: Steps().attend(q, k, k[..., : v.shape[-1]], mask)),
        ("the keys are the values", lambda q, k, v, mask=None: Steps().attend(q, _but(k, v), v, mask)),
    ):
        yield entry(
            f"{name}: one matrix makes both of the latent",
            why,
            "Which of your matrices gets no gradient?",
            symptom,
            Steps(attend=attend),
        )


def _of_attention_steps() -> Iterator[Wrong]:
    """What attention's steps can do wrong; those before them are others here."""
    usual = Steps()
    for mistake, steps in of_attention():
        if steps.project is usual.project and steps.output is usual.output:
            yield mistake, steps


def _but(k: Tensor, v: Tensor) -> Tensor:
    """Keys whose part that is not turned are the values."""
    return torch.cat([v, k[..., v.shape[-1] :]], -1)


def _least_of_latent(sizes: Mapping[str, int]) -> int:
    return sizes["d_model"] * (2 * sizes["d_model"] + sizes["rank"]) + 2 * sizes["rank"] * sizes["d_model"]


LATENT_ATTENTION = attention_kind(
    kind_of(
        "latent_attention",
        "cls(d_model, num_heads, rank, d_rope=0); forward(x, mask=None), sees nothing later; K and V of latents (rank)",
        LATENTS,
        _latent,
        _of_latent,
        partial(_of_latent, usual=True),
        lambda parameters: (*of_sight(True), *_of_latents(parameters), *_of_attention_steps()),
    ),
    {**SIZES, "rank": 8, "d_turned": 6},
    {**WIDER, "rank": 14, "d_turned": 4},
    _least_of_latent,
)
KINDS = [CAPPED, SINK, NORMED_ATTENTION, LATENT_ATTENTION]

"""Embeddings, positions, norms, the feed-forward network and the residual connection."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from transformer_edu.book.exercises.checks.components.feed_forward import feed_forward
from transformer_edu.book.exercises.checks.components.layer_norm import norm
from transformer_edu.book.exercises.checks.components.residual import residual
from transformer_edu.book.exercises.checks.components.sinusoidal_table import interleave, table, thetas
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import ALONE, FIXED, KEPT, LONG, OVERFLOW, TRAINING, Experiment
from transformer_edu.book.exercises.judge.kind import Answer, Function, Kind, Parameters, drawn, joined, known
from transformer_edu.book.exercises.judge.mistakes import OUTSIDE, entry, named, of_rms
from transformer_edu.book.exercises.judge.model import (
    FEED_FORWARDS,
    NORMS,
    Style,
    fitting,
    gain_of,
    inner_of,
    layer_norm,
    likely,
    of_equation_two,
    rms_norm,
    shapes_of_inner,
    shapes_of_norm,
    styles,
)
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.positional import sinusoidal_table

D_MODEL, D_FF, VOCAB = 12, 20, 10
WIDER = 30  # d_model at the second sizes
X = drawn(2, 5, D_MODEL)
STILL = {"still": True}  # nothing may change from one pass to the next


def _usual(*inputs: Any, long: Any = None) -> list[Experiment]:
    return [
        Experiment("two sentences", inputs),
        Experiment("one sentence", tuple(item[:1] if isinstance(item, Tensor) else item for item in inputs)),
        *([Experiment(f"{long.shape[1]} tokens", (long,), alone=LONG)] if long is not None else []),
        Experiment("in training, with dropout 0", inputs, how="training", alone=TRAINING),
        Experiment("dropout of one half", inputs, how="dropout"),
    ]


# ------------------------------------------------------------------ embedding

IDS = torch.tensor([[3, 1, 4, 1, 7], [5, 8, 2, 6, 9]])  # every word but 0, which may be padding


def _with(fn: Function, parameters: Parameters) -> Reference:
    """A function of ids and of a table."""
    shape = parameters.sizes["vocab_size"], parameters.sizes["d_model"]
    return Reference({"table": shape}, lambda p, ids: fn(ids, p["table"]), dead=shape[1])


def _embedding_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    yield "", _with(lambda ids, table: table[ids] * math.sqrt(table.shape[1]), parameters)


def _embedding_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for mistake, wrong in _of_embedding():
        yield mistake, _with(wrong, parameters)


def _of_embedding() -> Iterator[tuple[Mistake, Function]]:
    yield entry(
        "the factor is the root of the sentence's length, not of d_model",
        "x.size(-1) of ids (batch, seq) is the length; d_model is the last dimension of what the table gives.",
        "By what is a word multiplied in a sentence of two tokens, and in one of ten?",
        "a word's vector depends on how long its sentence is",
        lambda ids, table: table[ids] * math.sqrt(ids.shape[-1]),
    )
    yield entry(
        "the root is cut to a whole number",
        "int(√512) is 22, not 22.63; a root is no integer.",
        "Print your factor.",
        "embeddings a little smaller than those of other implementations: their weights do not fit",
        lambda ids, table: table[ids] * int(math.sqrt(table.shape[1])),
    )
    yield entry(
        "the position in the sentence is added here too",
        "positions are another module's work; here they are added twice in the end.",
        "What does the same word give at two places?",
        "the same word has different vectors",
        lambda ids, table: table[ids] * math.sqrt(table.shape[1]) + sinusoidal_table(ids.shape[1], table.shape[1]),
    )
    yield entry(
        "vectors are cut down to a largest length",
        "max_norm shrinks, at each look-up, the rows of the table that are longer: what was learned is undone.",
        "How long are the rows of your table before and after a call?",
        "words differ only in direction, and training is slow",
        lambda ids, table: (table * (table.renorm(2, 0, 1.0) / table).detach())[ids] * math.sqrt(table.shape[1]),
    )
    yield entry(
        "the factor √d_model is missing",
        "the rows of the table are returned as they are.",
        "By what should a row be multiplied, with d_model 12 as here?",
        "words are √d_model times smaller than the paper has them, and drown beside their positions",
        lambda ids, table: table[ids],
    )
    yield entry(
        "the rows are divided by √d_model, not multiplied",
        "√d_model divides the scores in attention; here it multiplies.",
        "The table's entries are small, about 1/√d_model. Which operation brings them to about 1?",
        "words are d_model times smaller than they should be: positions are all that is left",
        lambda ids, table: table[ids] / math.sqrt(table.shape[1]),
    )
    yield entry(
        "the factor is d_model, not its root",
        "the root is missing.",
        "The table's entries are about 1/√d_model. Which factor brings them to about 1?",
        "words are √d_model times too large, and positions drown beside them",
        lambda ids, table: table[ids] * table.shape[1],
    )
    yield entry(
        "the factor is d_model / 2: `** 1 / 2` halves, and takes no root",
        "a power binds before a division: d ** 1 / 2 is (d ** 1) / 2. The root is d ** 0.5, or d ** (1 / 2).",
        "Print your factor, with d_model 12 as here.",
        "words are √d_model / 2 times too large, and positions drown beside them",
        lambda ids, table: table[ids] * (table.shape[1] / 2),
    )
    yield entry(
        "the factor is √vocab_size, not √d_model",
        "the wrong one of the two sizes stands under the root.",
        "Which size is the length of one word's vector?",
        "the size of a word's vector depends on how many words there are",
        lambda ids, table: table[ids] * math.sqrt(table.shape[0]),
    )
    yield entry(
        "ids are ignored: each position gets a row, whatever word stands there",
        "the table is read at 0, 1, 2, …, the positions, or cut with a slice.",
        "Word 3 stands first in the first sentence. Which row of the table should come first?",
        "a model that does not react to its input words",
        lambda ids, table: table[torch.arange(ids.shape[1]).expand_as(ids)] * math.sqrt(table.shape[1]),
    )
    yield entry(
        "a softmax stands between the one-hot vectors and the table",
        "softmax of 0, 0, 1 is 0.21, 0.21, 0.58: each row of the table gets in.",
        "Which vector times the table gives exactly one of its rows?",
        "every word's vector is a blend of all words",
        lambda ids, table: (
            functional.one_hot(ids, len(table)).to(table).softmax(-1) @ table * math.sqrt(table.shape[1])
        ),
    )


EMBEDDING = Kind(
    "input_embedding",
    "cls(vocab_size, d_model); ids (batch, seq) -> (batch, seq, d_model), times √d_model",
    [
        Experiment("two sentences", (IDS,)),
        Experiment("one sentence", (IDS[:1],)),
        Experiment("300 tokens", (IDS.repeat(1, 75),), alone=LONG),
        Experiment("in training", (IDS,), how="training"),
    ],
    _embedding_rights,
    _embedding_wrongs,
    options={"vocab_size": VOCAB, "d_model": D_MODEL},
    least=VOCAB * D_MODEL,
).at(
    [Experiment("23 words, 30 features", (torch.arange(1, 23).view(2, 11),)), Experiment("one of them", (IDS[:1],))],
    vocab_size=23,
    d_model=WIDER,
)

# ------------------------------------------------------------------ positions


def _plus_table(table: Callable[[int, int], Tensor]) -> Function:
    return lambda x: x + table(x.shape[1], x.shape[2])


def _position_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    """As the paper's text has it, and as its authors' own code, in both respects or one."""
    for halves, evenly in product(("", HALVES), ("", EVENLY)):
        told = joined(halves, evenly) + THEIR_CODE if halves or evenly else ""
        yield told, _plus_table(partial(as_in_tensor2tensor, bool(halves), bool(evenly)))


def as_in_tensor2tensor(halves: bool, evenly: bool, length: int, d_model: int) -> Tensor:
    """A table of sinusoids with the cosines behind all sines, or with exponents up to 1, or as the paper has it."""
    frequencies = thetas(d_model, factor=d_model / (d_model - 2) if evenly else 1.0)
    rows = table(length, frequencies, join=lambda *two: torch.cat(two, -1) if halves else interleave(*two))
    return rows.to(torch.get_default_dtype())


HALVES = "all sines stand first and all cosines after them"
EVENLY = "the exponents run from 0 to 1, evenly"
THEIR_CODE = " (as in tensor2tensor, the authors' own code)"


def _growing(seq: int, d_model: int) -> Tensor:
    angles = torch.arange(seq)[:, None] * torch.exp(torch.arange(0, d_model, 2) * (math.log(10000.0) / d_model))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def _position_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for mistake, wrong in known("sinusoidal table"):
        yield mistake, _plus_table(wrong)
    yield entry(
        "all frequencies are 1: a division drops the fraction",
        "2i // d_model is 0 for every pair; `/` is meant.",
        "Print your exponents.",
        "positions 6 apart look almost alike, in every pair",
        _plus_table(lambda length, d_model: sinusoidal_table(length, 2).repeat(1, d_model // 2)),
    )
    yield entry(
        "the exponent's minus sign is missing: frequencies grow from pair to pair",
        "10000^(−2i/d): the first pair turns fastest, the last slowest. Without the minus the last turns by "
        "thousands of radians a token.",
        "How far does the last pair turn from one position to the next?",
        "neighbouring positions look as different as distant ones",
        lambda x: x + _growing(x.shape[1], x.shape[2]),
    )
    yield entry(
        "x is scaled by √d_model here as well",
        "in this book the embedding multiplies by √d_model; doing it in both places does it twice.",
        "With x = 1 and position 0, the first entry should be 1 + sin(0). What is yours?",
        "embeddings that are √d_model times too large for their positions, when the embedding scales too",
        lambda x: x * x.shape[-1] ** 0.5 + sinusoidal_table(x.shape[1], x.shape[2]),
    )
    yield entry(
        "the table is added twice",
        "two places add it: for example an `x += ...` and the return line.",
        "Follow x through your forward. How often is the table added?",
        "positions weigh twice as much as they should",
        lambda x: x + 2 * sinusoidal_table(x.shape[1], x.shape[2]),
    )
    yield entry(
        "the embeddings are multiplied by the table, not added to it",
        "the paper sums the two (section 3.5).",
        "What is position 0's row of the table, and what does your operation make of a word there?",
        "features vanish wherever a sine passes zero: position 0 loses half of every word",
        lambda x: x * sinusoidal_table(x.shape[1], x.shape[2]),
    )
    yield entry(
        "every token gets the row behind the sentence",
        "pe[x.size(1)] is one row; pe[: x.size(1)] are as many as there are tokens.",
        "Print the shape of what you add.",
        "word order is lost",
        lambda x: x + sinusoidal_table(x.shape[1] + 1, x.shape[2])[-1],
    )
    yield entry(
        "the table is returned alone; x is lost",
        "the rows are looked up but never added to the embeddings.",
        "Which argument of forward does the return line not use?",
        "a model that does not react to its input words",
        lambda x: sinusoidal_table(x.shape[1], x.shape[2]).expand_as(x),
    )
    yield entry(
        "the table is indexed by the batch, x.size(0), not by the position",
        "x is (batch, seq, d_model); code written for (seq, batch, d_model) counts positions along dimension 0.",
        "How many rows does your slice take for one sentence?",
        "all tokens of a sentence get the same row: word order is invisible; another batch size changes results",
        lambda x: x + sinusoidal_table(x.shape[0], x.shape[2])[:, None],
    )


FAR_OFF = {"max_len": 3000, "may stop": True}  # whole numbers of float16 end at 2,048
COARSE = "angles are computed in half precision, in which 600 radians are known to a quarter of a radian"
POSITIONS = Kind(
    "positional_encoding",
    "cls(d_model, max_len=5000, dropout=0.0); x (batch, seq, d_model) -> x + the sinusoidal table's rows",
    [
        *_usual(X, long=drawn(1, 600, D_MODEL)),
        Experiment("3,000 tokens", (drawn(1, 3000, D_MODEL),), alone=LONG, options=FAR_OFF, tolerance=3e-2),
        Experiment("30 features", (drawn(3, 4, WIDER),), alone=FIXED, options={"d_model": WIDER}),
        Experiment("after a shorter sentence", (X,), alone=KEPT, options={"before": (X[:, :2],)}),
        Experiment("after a longer sentence", (X,), alone=KEPT, options={"before": (drawn(2, 9, D_MODEL),)}),
        Experiment(
            "dropout, where the sum is zero",
            (-sinusoidal_table(5, D_MODEL)[None],),
            how="dropout",
            options=STILL | {"nought": True},
        ),
        Experiment(
            "600 tokens in half precision",
            (drawn(1, 600, D_MODEL),),
            how="half",
            alone=COARSE,
            tolerance=3e-2,
        ),
        Experiment("on another device", (X,), how="moved"),
    ],
    _position_rights,
    _position_wrongs,
    options={"d_model": D_MODEL, "max_len": 700, "dropout": 0.0},
    unbiased=True,
    learns_nothing=True,
)

# ------------------------------------------------------------------ norms

GAMMA, BETA = 1 + 0.3 * drawn(D_MODEL, seed=4), 0.3 * drawn(D_MODEL, seed=5)
SPREAD = drawn(2, 5, D_MODEL) * 3 + 2
EPS, LARGE = 1e-5, 0.5
PLAIN = torch.ones(()), torch.zeros(())  # γ and β of a norm that does nothing more
WIDER_GAMMA, WIDER_BETA = 1 + 0.3 * drawn(WIDER, seed=4), 0.3 * drawn(WIDER, seed=5)
SMALL = "small tokens come out otherwise: ε is not what is added to the variance, under the root"
SQUARES = "large numbers come out otherwise: their squares are computed in half precision, or cut off"
FAR = SPREAD + 3000
WHAT_A_NORM_SEES = [
    ("two sentences", SPREAD, None),
    ("one token", SPREAD[:1, :1], None),
    ("without a batch", SPREAD[0], None),
    ("as many tokens as features", drawn(2, D_MODEL, D_MODEL) + 1, None),
    ("far from zero", FAR, "numbers far from zero lose their digits: the variance as E[x²] − E[x]²"),
    (
        "features that are all equal",
        torch.full((1, 2, D_MODEL), 2.0),
        "a token whose features are all equal becomes NaN",
    ),
    ("300 tokens", drawn(1, 300, D_MODEL), LONG),
    ("small numbers, whose variance is about as large as ε", 3e-3 * drawn(2, 5, D_MODEL), SMALL),
]


def _norm_experiments(*learned: Tensor) -> list[Experiment]:
    of_rms = len(learned) == 1  # it takes no mean away
    return [
        Experiment(
            title,
            (x,),
            alone=SQUARES if of_rms and x is FAR else alone,
            options={"learned": learned},
            tolerance=3e-2 if "zero" in title else 1e-3,
        )
        for title, x, alone in WHAT_A_NORM_SEES
    ] + [
        Experiment(
            "an ε that can be seen",
            (SPREAD,),
            options={"learned": (*learned, LARGE), "eps": LARGE, "asks": "eps"},
            alone="with an ε that can be seen it is wrong: eps is not used, or is not where it belongs",
        ),
        Experiment(
            "in training",
            (SPREAD,),
            how="training",
            options={"learned": learned},
            alone="training and evaluation give different answers: running statistics belong to batch norm",
        ),
        Experiment(
            "half precision", (SPREAD,), how="half", options={"learned": learned}, alone=OVERFLOW, tolerance=3e-2
        ),
    ]


def _wider(*learned: Tensor) -> list[Experiment]:
    return [
        Experiment(title, (drawn(*shape, WIDER) + 1,), options={"learned": learned})
        for title, shape in (("30 features", (3, 4)), ("30 features of one token", (1, 1)))
    ]


def _normed(norm: Function, parameters: Parameters, count: int, eps: float = EPS, style: Style = Style()) -> Answer:  # noqa: B008
    """`norm` with what was learned: by a class, or, for a function, handed over with ε behind it."""
    answer = partial(_by_norm, norm, count, eps)
    if not parameters.made:
        return partial(answer, None)
    return Reference(shapes_of_norm(parameters.sizes["d_model"], style), answer)


def _by_norm(norm: Function, count: int, eps: float, p: Mapping[str, Tensor] | None, x: Tensor, *rest: Any) -> Any:
    learned = rest[:count] if p is None else (gain_of(p).gamma, gain_of(p).beta)[:count]
    return norm(x, *learned, rest[count] if len(rest) > count else eps)


OTHER_EPS = {eps: f"ε is {eps:.2g}, where this book and torch.nn have 1e-5" for eps in (1e-6, 1e-7, 1e-8, 1e-4, 1e-3)}
OTHER_EPS[torch.finfo(torch.float32).eps] = "ε is the smallest step of float32, where this book has 1e-5"
ADDED = "the weight is what is added to a gain of 1"
TWICE = named(
    "1 is added to the gain: all is multiplied by 1 + γ",
    "a weight that is added to 1 starts at 0, as in Gemma; one that starts at 1, or is handed over, is the gain.",
    "By what is a token multiplied before anything was learned?",
    "the first steps of training go wrong, or weights of others do not fit",
)
LEARNED = {  # what a norm may have learned, with what is remarked of it
    "both": "",
    "gain": "it learns no shift β, as some later models do",
    "none": "it learns neither gain nor shift",
}


def _layer_norm_rights(parameters: Parameters) -> Iterator[tuple[str, Answer]]:
    for learned, told in LEARNED.items() if parameters.made else [("both", "")]:
        for eps, remark in {EPS: "", **OTHER_EPS}.items():
            yield joined(told, remark), _normed(layer_norm, parameters, 2, eps, Style(norm=learned))
    if parameters.made and not bool(parameters.ones.any()):
        yield ADDED, _normed(_norm_of_one_plus, parameters, 2)


def _norm_of_one_plus(x: Tensor, more: Tensor, beta: Tensor, eps: float) -> Tensor:
    return layer_norm(x, 1 + more, beta, eps)


def _layer_norm_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Answer]]:
    for mistake, wrong in _of_layer_norm():
        for learned in LEARNED if parameters.made else ("both",):
            yield mistake, _normed(wrong, parameters, 2, style=Style(norm=learned))
    if not parameters.made or bool(parameters.ones.any()):
        yield TWICE, _normed(_norm_of_one_plus, parameters, 2)
    if parameters.made:
        one = named(
            "γ and β are one number each, not one for each feature",
            "torch.ones(1) is broadcast: all features share one gain and one shift.",
            "How many numbers does your norm learn? With d_model features there are 2 · d_model.",
            "the norm runs, and learns nearly nothing",
        )
        for names in (("gain", "shift"), ("gain",)):
            yield one, Reference(dict.fromkeys(names, (1,)), lambda p, x, *rest: layer_norm(x, *_single(p)))


def _single(p: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    return p["gain"], p.get("shift", torch.zeros(()))


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def _of_layer_norm() -> Iterator[tuple[Mistake, Function]]:
    yield from known("layer normalization")
    yield entry(
        "it is RMSNorm: the mean is not taken away",
        "layer norm centres each token before it scales it.",
        "What is the mean of a token after your norm, with γ = 1 and β = 0?",
        "tokens keep their offset",
        lambda x, gamma, beta, eps: rms_norm(x, gamma, eps) + beta,
    )
    yield entry(
        "the variance is the mean of the squares of x, before its mean is taken away",
        "x is centred above the fraction bar and not below it.",
        "How large is the standard deviation of a token after your norm, with γ = 1 and β = 0?",
        "tokens with an offset come out too small",
        lambda x, gamma, beta, eps: gamma * (x - x.mean(-1, True)) / ((x**2).mean(-1, True) + eps).sqrt() + beta,
    )
    yield entry(
        OUTSIDE,
        "1/√(variance + ε) is meant, not 1/√variance + ε: without variance that is infinity times zero.",
        "What does a token become whose features are all equal?",
        "NaN, for a token of padding for example",
        lambda x, gamma, beta, eps: gamma * _centred(x) * (_centred(x).pow(2).mean(-1, True).rsqrt() + eps) + beta,
    )
    yield entry(
        "γ multiplies β too",
        "γ · x̂ + β is meant, not γ · (x̂ + β).",
        "In which order do you scale and shift?",
        "the shift that is learned depends on the gain",
        partial(norm, scale=lambda x, gamma, beta: gamma * (x + beta)),
    )
    yield entry(
        "mean and variance are taken over tokens and features together",
        "each token is normalized by itself: dim=-1.",
        "How many means should two tokens have? How many does your norm compute?",
        "a token's result depends on the others of its sentence",
        partial(norm, dim=(-2, -1)),
    )


LAYER_NORM = Kind(
    "layer_norm",
    "cls(d_model, eps=1e-5), or fn(x, gamma, beta, eps=1e-5), over the last dimension",
    _norm_experiments(GAMMA, BETA),
    _layer_norm_rights,
    _layer_norm_wrongs,
    options={"d_model": D_MODEL, "eps": EPS},
    may_be_function=True,
    learns=True,
).at(_wider(WIDER_GAMMA, WIDER_BETA), d_model=WIDER)


def _rms_rights(parameters: Parameters) -> Iterator[tuple[str, Answer]]:
    for learned in ("gain", "none") if parameters.made else ("gain",):
        told = LEARNED["none"] if learned == "none" else ""
        for eps, remark in {EPS: "", **OTHER_EPS}.items():
            yield joined(told, remark), _normed(rms_norm, parameters, 1, eps, Style(norm=learned))
    for eps in () if bool(parameters.ones.any()) else (EPS, *OTHER_EPS):
        yield ADDED, _normed(_rms_of_one_plus, parameters, 1, eps, Style(norm="gain"))


def _rms_of_one_plus(x: Tensor, more: Tensor, eps: float) -> Tensor:
    return rms_norm(x, 1 + more, eps)


def _rms_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Answer]]:
    for (mistake, fn), eps in product(of_rms(), (EPS, 1e-6)):
        yield mistake, _normed(fn, parameters, 1, eps, Style(norm="gain"))
    for eps in (EPS, 1e-6):
        yield TWICE, _normed(_rms_of_one_plus, parameters, 1, eps, Style(norm="gain"))


RMS_NORM = Kind(
    "rms_norm",
    "cls(d_model, eps=...), or fn(x, gamma, eps=...), over the last dimension",
    [
        *[experiment for experiment in _norm_experiments(GAMMA) if "equal" not in experiment.title],
        Experiment(
            "features that are all zero",
            (torch.zeros(1, 2, D_MODEL),),
            options={"learned": (GAMMA,)},
            alone="a token of zeros becomes NaN",
        ),
    ],
    _rms_rights,
    _rms_wrongs,
    options={"d_model": D_MODEL, "eps": EPS},
    may_be_function=True,
    learns=True,
).at(_wider(WIDER_GAMMA), d_model=WIDER)

# ------------------------------------------------------------------ feed-forward


INNER_STYLES = styles(inner=("both", "none", "first", "second"))


def _inner(feed_forward: Function, parameters: Parameters, style: Style) -> Reference:
    shapes = shapes_of_inner(parameters.sizes["d_model"], parameters.sizes["d_ff"], style)
    return Reference(shapes, partial(_by_network, feed_forward))


def _by_network(feed_forward: Function, p: Mapping[str, Tensor], x: Tensor) -> Any:
    return feed_forward(x, *of_equation_two(*inner_of(p)))


def _feed_forward_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    for style in fitting(INNER_STYLES, parameters, lambda style: _inner(feed_forward, parameters, style)):
        for remark, right in FEED_FORWARDS:
            yield remark, _inner(right, parameters, style)


def _reshaped(x: Tensor, *weights: Tensor) -> Tensor:
    return feed_forward(x.reshape(x.shape[0], x.shape[2], x.shape[1]).transpose(1, 2), *weights)


def _feed_forward_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    reshaped = named(
        "x is reshaped where it should be transposed",
        "(batch, seq, d_model) becomes (batch, d_model, seq) by transpose(1, 2); reshape mixes tokens.",
        "Change one token of x: how many tokens of the answer change?",
        "tokens see each other where each should be alone",
    )
    single = named(
        "each bias is a single number",
        "a bias has a number for each feature; one of shape (1,) is broadcast to all of them.",
        "Print the shapes of your parameters. How many numbers has b₁?",
        "fewer numbers to learn, and weights of others that do not fit",
    )
    shapes = shapes_of_inner(parameters.sizes["d_model"], parameters.sizes["d_ff"], INNER_STYLES[0])
    shapes |= {"first_bias": (1,), "second_bias": (1,)}
    yield single, Reference(shapes, lambda p, x: feed_forward(x, *of_equation_two(*inner_of(p))))
    for style in likely(INNER_STYLES, parameters, lambda style: _inner(feed_forward, parameters, style)):
        for mistake, wrong in ((reshaped, _reshaped), *known("feed-forward network")):
            yield mistake, _inner(wrong, parameters, style)


EACH_TOKEN = [  # of what computes for each token by itself
    *_usual(X, long=drawn(1, 307, D_MODEL)),  # a prime: no chunks of any size fill it
    Experiment(ALONE, (X[:1, :1],)),
    Experiment("large numbers", (40 * X,), alone="it is wrong for large numbers, as if they were cut off"),
]
OTHERS = [Experiment("30 features, 44 inside", (drawn(3, 4, WIDER),)), Experiment("one token", (drawn(1, 1, WIDER),))]
FEED_FORWARD = Kind(
    "feed_forward",
    "cls(d_model, d_ff, dropout=0.0), max(0, x W₁ + b₁) W₂ + b₂",
    EACH_TOKEN,
    _feed_forward_rights,
    _feed_forward_wrongs,
    options={"d_model": D_MODEL, "d_ff": D_FF, "dropout": 0.0},
    unbiased=True,
    each_token_alone=True,
    least=2 * D_MODEL * D_FF,
).at(
    OTHERS,
    2 * WIDER * 44,
    d_model=WIDER,
    d_ff=44,
)

# ------------------------------------------------------------------ residual connection


class _Part:
    """x² + 1; called once more, it gives another answer."""

    calls = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.calls * x * x + 1


def _call_residual(component: Any, inputs: tuple[Any, ...]) -> Any:
    return component(inputs[0], inputs[1] if len(inputs) > 1 else _Part())


NORM_STYLES = styles(norm=("both", "none", "gain"))


def _residuals(
    wiring: Function, parameters: Parameters, norm: Function = layer_norm, some: list[Style] = NORM_STYLES
) -> Iterator[Reference]:
    for style in some:
        for place in ("post", "pre"):

            def answer(p: Mapping[str, Tensor], x: Tensor, part: Any = None, place: str = place) -> Any:
                gain = gain_of(p)
                return wiring(x, part or _Part(), lambda x: norm(x, gain.gamma, gain.beta), place)

            yield Reference(shapes_of_norm(parameters.sizes["d_model"], style), answer)


def _residual_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    for more, right in NORMS:
        for index, reference in enumerate(_residuals(residual, parameters, right)):
            yield joined(PRE if index % 2 else "", more), reference


PRE = "the norm stands before the part (pre-norm); the paper has it after the sum"
WIRINGS: tuple[tuple[str, str, str, str, Function], ...] = (
    (
        "what is added is the normalized x",
        "the residual connection adds x itself: that is the way on which gradients come back unchanged.",
        "What comes out if the sub-layer gives zeros, before the norm behind it?",
        "the stream loses what the norm takes away, layer by layer",
        lambda x, part, norm, place: norm(part(x) + norm(x)) if place == "post" else norm(x) + part(norm(x)),
    ),
    (
        "x is added twice",
        "part(x) + x is added to x again: one addition in the sub-layer, or before the norm, is one too many.",
        "What comes out if the sub-layer gives zeros, without the norm: x, or 2 x?",
        "what the sub-layers find counts half",
        lambda x, part, norm, place: norm(x + x + part(x)) if place == "post" else x + x + part(norm(x)),
    ),
    (
        "the sub-layer is applied twice",
        "sublayer(x) once: what goes through twice is another function.",
        "How often is the sub-layer called in one forward?",
        "twice the time, and a depth that nobody asked for",
        lambda x, part, norm, place: norm(x + part(part(x))) if place == "post" else x + part(part(norm(x))),
    ),
)


def _residual_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for name, why, hint, symptom, wiring in WIRINGS:
        for fn in _residuals(wiring, parameters):
            yield named(name, why, hint, symptom), fn
    if len(parameters.numbers):
        fresh = named(
            "the norm is made anew in each call",
            "a module made in forward has fresh parameters each time: its γ and β never learn.",
            "In which method is your norm made?",
            "γ stays 1 and β 0, and the norm's own parameters get no gradient",
        )
        for fn in _residuals(residual, parameters, some=styles(norm=("none",))):
            yield fresh, fn
    for mistake, wrong in known("residual connection"):
        for fn in _residuals(wrong, parameters):
            yield mistake, fn
    for mistake, wrong in known("layer normalization"):
        for fn in _residuals(residual, parameters, wrong):
            yield mistake, fn


def _first(number: float) -> Function:
    """A part that answers this number as each vector's first, and zeros."""
    return partial(torch.where, torch.tensor(True), number * torch.eye(D_MODEL)[0].expand(2, 5, D_MODEL))


RESIDUAL = Kind(
    "residual",
    "cls(d_model, dropout=0.0); forward(x, sublayer) = norm(x + dropout(sublayer(x)))",
    [
        *_usual(X, long=drawn(1, 300, D_MODEL)),
        Experiment("dropout, where the part gives zeros", (X, torch.zeros_like), how="dropout", options=STILL),
        Experiment(
            "everything dropped",
            (X, partial(torch.add, drawn(2, 5, D_MODEL, seed=6))),
            how="dropout",
            options={"share": 1.0, "may stop": True, "as if": (X, torch.zeros_like)},
        ),
        Experiment(
            "one number that is dropped or kept",
            (X, _first(1.0)),
            how="dropout",
            options={"either": ((X, _first(0.0)), (X, _first(2.0)))},
        ),
    ],
    _residual_rights,
    _residual_wrongs,
    options={"d_model": D_MODEL, "dropout": 0.0},
    call=_call_residual,
).at([Experiment("30 features", (drawn(3, 4, WIDER),)), Experiment("one token", (drawn(1, 1, WIDER),))], d_model=WIDER)
KINDS = [EMBEDDING, POSITIONS, LAYER_NORM, RMS_NORM, FEED_FORWARD, RESIDUAL]

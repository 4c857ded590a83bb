"""Attention as a function, multi-head attention as a class, masks, and the cache of keys and values."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import (
    ALIKE_WORDS,
    FIXED,
    KEPT,
    LONG,
    OVERFLOW,
    TRAINING,
    WIDENED,
    Experiment,
    Masked,
    tensor_of,
)
from transformer_edu.book.exercises.judge.kind import Function, Kind, Parameters, drawn, known
from transformer_edu.book.exercises.judge.kinds.machine import kind_of
from transformer_edu.book.exercises.judge.making import by_name
from transformer_edu.book.exercises.judge.mistakes import entry, named, of_attention, of_equation_one
from transformer_edu.book.exercises.judge.model import Steps, Style, attend, of_heads, styles
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.parts import window_mask

D_MODEL, HEADS, D_HEAD = 12, 3, 4
WIDER = {"d_model": 30, "num_heads": 5}  # where √d_head, d_head / 2, log₂ d_head, 2 and all other sizes differ
LATER = causal_mask(5)[None, None]
PADDED = padding_mask(torch.tensor([[5, 5, 5, 5, 0, 0], [5, 5, 5, 0, 0, 0]]), 0).expand(2, 1, 4, 6).contiguous()
BOTH = LATER & padding_mask(torch.tensor([[5, 5, 5, 5, 5], [5, 5, 5, 0, 0]]), 0)
BLIND = "a query that may look at nothing does not get zeros, as it does in this book"
IN_FRONT = padding_mask(torch.tensor([[5, 5, 5, 5, 5], [0, 0, 5, 5, 5]]), 0)
LEFT = LATER & IN_FRONT
ONE_BY_ONE = "it is right only where tokens come one at a time"
SHARED = "what one cache holds turns up in another: they share one store"
ALIKE = "dropout of one half, the words of the second sentence alike"
ONE = drawn(1, 5, D_MODEL, seed=9)
ITS = "values are not looked at where queries and keys are one tensor"
LIMITED = "masks are right up to a length only"
FORTY = causal_mask(40).expand(2, 1, 40, 40).contiguous()
FAR = (torch.arange(150) < 130).expand(2, 1, 3, 150).contiguous()
EACH_HEAD = torch.stack([causal_mask(5), causal_mask(5).T, torch.ones(5, 5, dtype=torch.bool)])
TOO_LARGE = "large scores overflow: exp without the largest score taken away first, or a fill that is not small enough"


def _three(*shape: int, q_len: int = 5, k_len: int = 5, scale: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    lead, last = shape[:-1], shape[-1]
    return (
        scale * drawn(*lead, q_len, last, seed=1),
        drawn(*lead, k_len, last, seed=2),
        drawn(*lead, k_len, last, seed=3),
    )


def alike(x: Tensor) -> Tensor:
    """With one word in all places of the second sentence."""
    return torch.stack([x[0], x[1][..., :1, :].expand_as(x[1])])


def _experiments(*shape: int) -> list[Experiment]:
    """For all: shape is (batch, heads, d_head) or (batch, d_model)."""
    self_input = _three(*shape)
    across = _three(*shape, q_len=4, k_len=6)
    long = _three(*shape, q_len=300, k_len=300)
    keyed, forty = _three(*shape, q_len=3, k_len=150), _three(*shape, q_len=40, k_len=40)
    later, both = Masked(LATER.expand(2, 1, 5, 5).contiguous()), Masked(BOTH)
    return [
        Experiment("two sentences of five tokens", self_input),
        Experiment("four queries, six keys", across),
        Experiment("a causal mask", (*self_input, later)),
        Experiment("four queries, six keys, some of them padding", (*across, Masked(PADDED))),
        Experiment("a causal mask and padding", (*self_input, both)),
        Experiment("very large scores", _three(*shape, scale=3e3), alone=TOO_LARGE),
        Experiment(
            "very large scores and a causal mask",
            (*_three(*shape, scale=3e3), later),
            alone=TOO_LARGE,
        ),
        Experiment("300 tokens", long, alone=LONG),
        Experiment("150 keys, the last of them padding", (*keyed, Masked(FAR)), alone=LIMITED),
        Experiment("a causal mask over 40 tokens", (*forty, Masked(FORTY)), alone=LIMITED),
        Experiment("in training, with dropout 0", self_input, how="training", alone=TRAINING),
        Experiment(ALIKE, (*self_input[:2], alike(self_input[2])), how="dropout", options=ALIKE_WORDS),
        Experiment("dropout of one half", self_input, how="dropout"),
        Experiment("half precision", (*across, Masked(PADDED)), how="half", alone=OVERFLOW, tolerance=3e-2),
        Experiment(
            "after a call with others and a mask",
            self_input,
            alone=KEPT,
            options={"before": (*reversed(self_input), later)},
        ),
        Experiment(
            "after a shorter call", self_input, alone=KEPT, options={"before": tuple(x[..., :3, :] for x in self_input)}
        ),
        Experiment(
            "after a call with another mask",
            (*self_input, both),
            alone=KEPT,
            options={"before": (*reversed(self_input), later)},
        ),
        Experiment(
            "queries before any real token, as with padding on the left",
            (*self_input, Masked(LEFT)),
            remark=True,
            alone=BLIND,
        ),
    ]


def _attention_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    yield "", attend


def _attention_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    yield from known("attention")
    yield from of_equation_one()


SLOTS: dict[str, str | tuple[str, ...]] = {  # a mask of keys alone is taken where there is no other
    "query": r"^q(?!.*(mask|pad|dim|len))|query",
    "key": r"^k(?!.*(mask|pad|dim|len))|key(?!.*(mask|pad))",
    "value": r"^v(?!.*(mask|len))|value",
    "mask": (r"^(?!.*(pad|key)).*(mask|bias)", "mask"),
}


def attention_experiments() -> list[Experiment]:
    """Of attention as a function."""
    return [
        *_experiments(2, HEADS, D_HEAD),
        Experiment(
            "a mask of its own for each head",
            (*_three(2, HEADS, D_HEAD), Masked(EACH_HEAD.expand(2, HEADS, 5, 5).contiguous())),
            alone="all heads get one head's mask",
        ),
        Experiment("four sentences, five heads of six features", _three(4, 5, 6, q_len=11, k_len=13), alone=FIXED),
    ]


ATTENTION = Kind(
    "attention",
    "fn(query, key, value, mask=None) on (batch, heads, len, d_head) -> output, or (output, weights)",
    attention_experiments(),
    _attention_rights,
    _attention_wrongs,
    made=False,
    call=partial(by_name, slots=SLOTS),
)


def _paper(style: Style, parameters: Parameters) -> Iterator[tuple[str, Steps]]:
    yield "", Steps()


MULTI_HEAD = kind_of(
    "multi_head_attention",
    "cls(d_model, num_heads, dropout=0.0); forward(query, key, value, mask=None) on (batch, len, d_model)",
    styles(attention=("all", "none", "qkv", "out")),
    of_heads,
    _paper,
    _paper,
    lambda parameters: of_attention(),
    [
        *_experiments(2, D_MODEL),
        Experiment("one sentence", (ONE,) * 3),
        Experiment(
            "values of their own for queries that are the keys", (ONE, ONE, drawn(1, 5, D_MODEL, seed=8)), alone=ITS
        ),
    ],
    options={"d_model": D_MODEL, "num_heads": HEADS, "dropout": 0.0},
    unbiased=True,
    call=partial(by_name, slots=SLOTS),
    least=4 * D_MODEL**2,
).at(
    [
        Experiment("three sentences of 30 features, five heads", (drawn(3, 11, 30),) * 3),
        Experiment("eleven queries, 13 keys", _three(3, 30, q_len=11, k_len=13)),
    ],
    4 * 30**2,
    **WIDER,
)

# ------------------------------------------------------------------ masks

ADDITIVE, AGAIN = 2.0, "three tokens again"


def _as_allowed(shape: tuple[int, int, int], fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    """What a mask lets through, (batch, 4 heads, q_len, k_len): 1, or ADDITIVE where it does so by adding zero."""
    mask, through = tensor_of(fn(*inputs)), 1.0
    if mask.is_floating_point() and float(mask.max()) <= 0:
        mask, through = mask > -1e3, ADDITIVE
    batch, q_len, k_len = shape
    if mask.dim() == 3 and mask.shape[0] == batch != 1:
        mask = mask[:, None]
    allowed = (mask != 0).to(torch.get_default_dtype()).masked_fill(mask.isnan(), torch.nan)
    return through * allowed.expand(batch, 4, q_len, k_len)


def _read_mask(fn: Any, inputs: tuple[Any, ...]) -> Tensor:
    first = inputs[0]
    shape = (1, first, first) if isinstance(first, int) else (first.shape[0], first.shape[1], first.shape[1])
    return _as_allowed(shape, fn, inputs)


def _through(fn: Function, through: float = 1.0) -> Function:
    return lambda *inputs: through * _read_mask(fn, inputs)


def _mask_rights(right: Function) -> Iterator[tuple[str, Function]]:
    yield "", _through(right)
    yield "it is to be added to the scores: 0 where a query may attend, −∞ where not", _through(right, ADDITIVE)
    yield (
        "True is blocked, as in torch.nn; in this book True may attend, as in scaled_dot_product_attention",
        _through(lambda *inputs: ~right(*inputs)),
    )


def _without_last_row(size: int) -> Tensor:
    mask = causal_mask(size)
    mask[-1] = False
    return mask


def _past_only(size: int) -> Tensor:
    mask = causal_mask(size).tril(-1)
    mask[0, 0] = True
    return mask


def _mask_wrongs(component: str, right: Function) -> Iterator[tuple[Mistake, Function]]:
    yield entry(
        "it holds NaN: what is allowed was multiplied by −∞",
        "0 times −∞ is not a number; fill with −∞ where it is blocked, or say where it is allowed.",
        "What is torch.tensor(0.0) * -math.inf?",
        "every answer is NaN",
        lambda *inputs: (~right(*inputs)).float() * -torch.inf,
    )
    if component == "causal mask":
        yield entry(
            "the last token sees nothing",
            "a loop or range ends one step too early.",
            "How many rows does your loop fill?",
            "the last token of every sentence gets zeros or NaN",
            _without_last_row,
        )
        for most in (128, 256, 512):  # of a longer one, nothing is left that blocks
            yield entry(
                "it is cut out of a longer one at the wrong end: short texts see all that comes later",
                "rows and columns have to be cut at the same end: mask[:n, :n], or mask[-n:, -n:].",
                "What does your mask say of the first row for a text of three tokens?",
                "a training loss that falls far too low, and nonsense when it writes",
                lambda size, most=most: causal_mask(max(most, size))[-size:, :size],
            )
        yield entry(
            "a token does not see itself",
            "position q may attend to 0 .. q, itself included: the first row is no exception.",
            "Is the diagonal of your mask True?",
            "each token has to guess what it is from the others",
            _past_only,
        )
    elif component == "padding mask":
        for name, why, hint, wrong in (
            (
                "real tokens are counted, and that many first columns let through",
                "the count says how many tokens are real, not where they stand: with padding on the left, or between, "
                "it lets padding through.",
                "What does your mask say for [0, 0, 5]?",
                lambda ids, pad_id: _first((ids != pad_id).sum(1, keepdim=True), ids),
            ),
            (
                "everything behind the first padding is blocked",
                "the place of the first padding is no end: a sentence may begin with it, or have none (argmax of "
                "zeros is 0).",
                "What does your mask say for a sentence without padding, and for [0, 0, 5]?",
                lambda ids, pad_id: _first((ids == pad_id).int().argmax(1, keepdim=True), ids),
            ),
            (
                "everything behind the first padding is blocked",
                "padding may stand on the left, or between: what is real behind it has to be seen.",
                "What does your mask say for [0, 0, 5]?",
                lambda ids, pad_id: ((ids == pad_id).cumsum(1) == 0)[:, None, None, :],
            ),
            (
                "all sentences are masked as the first one",
                "each sentence of a batch has its own padding.",
                "Which index of the batch does your loop read?",
                lambda ids, pad_id: (ids[:1] != pad_id).expand(ids.shape)[:, None, None, :],
            ),
            (
                "the last column is never filled",
                "a loop or range ends one step too early.",
                "How many columns does your loop fill?",
                lambda ids, pad_id: _but_the_last(padding_mask(ids, pad_id)),
            ),
        ):
            yield named(name, why, hint, "padding is attended to, or real tokens are not"), wrong
    elif component == "window mask":
        yield entry(
            "the first rows are empty: their window begins at a negative number",
            "a slice from −1 counts from the end; begin at max(0, q − window + 1).",
            "Where does the window of the first token begin?",
            "the first tokens of every text get zeros or NaN",
            lambda size, window: window_mask(size, window) & (torch.arange(size)[:, None] >= window - 1),
        )
        yield entry(
            "a window as long as the text lets everything through",
            "a wide window is the causal mask: what is later stays hidden.",
            "What does your function return for a window of 100?",
            "short texts see their future",
            lambda size, window: window_mask(size, window) | torch.tensor(window >= size),
        )
        yield entry(
            "a token does not see itself",
            "position q may attend to q − window + 1 .. q, itself included; a slice leaves its end out.",
            "Is the diagonal of your mask True?",
            "each token has to guess what it is from the others",
            lambda size, window: window_mask(size, window).tril(-1),
        )
    yield from known(component)


def _first(count: Tensor, ids: Tensor) -> Tensor:
    return (torch.arange(ids.shape[1]) < count)[:, None, None, :]


def _but_the_last(mask: Tensor) -> Tensor:
    mask = mask.clone()
    mask[..., -1] = False
    return mask


def mask_kind(name: str, is_called: str, right: Function, component: str, inputs: list[tuple[str, Any]]) -> Kind:
    """A function that makes a mask."""
    return Kind(
        name,
        is_called,
        [
            Experiment(title, given, alone=LONG if "hundred" in title else KEPT if title == AGAIN else None)
            for title, given in inputs
        ],
        lambda parameters: _mask_rights(right),
        lambda parameters: (
            (mistake, _through(wrong, how))
            for how in (1.0, ADDITIVE)
            for mistake, wrong in _mask_wrongs(component, right)
        ),
        made=False,
        plain=True,
        call=_read_mask,
    )


CAUSAL = mask_kind(
    "causal_mask",
    "fn(size) -> True where position q may attend to position k, (size, size) or with leading ones",
    causal_mask,
    "causal mask",
    [
        ("three tokens", (3,)),
        ("one token", (1,)),
        ("seven tokens", (7,)),
        ("three hundred tokens", (300,)),
        (AGAIN, (3,)),
    ],
)
PADDING = mask_kind(
    "padding_mask",
    "fn(ids, pad_id) -> True where a key is a real token, broadcastable to (batch, heads, q_len, k_len)",
    padding_mask,
    "padding mask",
    [
        ("one sentence, its last token is padding", (torch.tensor([[5, 8, 0]]), 0)),
        ("two sentences of different length", (torch.tensor([[5, 8, 9, 4], [7, 3, 0, 0]]), 0)),
        ("a padding id other than 0", (torch.tensor([[5, 1, 0, 3], [3, 3, 2, 1]]), 3)),
        ("padding on the left", (torch.tensor([[0, 0, 5], [0, 4, 7]]), 0)),
        ("as many sentences as tokens", (torch.tensor([[5, 8, 9], [7, 0, 0], [6, 5, 0]]), 0)),
        ("three hundred tokens", (torch.cat([torch.ones(2, 300), torch.zeros(2, 3)], 1).long(), 0)),
    ],
)

# ------------------------------------------------------------------ cache


def _steps_of_cache(make_cache: Any, inputs: tuple[Any, ...]) -> Tensor:
    """Keys and values after each update, what the first answer is at the end, and whether both keep the dtype.

    The first of the inputs says whether there are "two" caches, in turn, or one.
    """
    caches = [make_cache(), make_cache()] if inputs[0] == "two" else [make_cache()]
    rows = []
    kept: list[tuple[Tensor, Tensor]] = []
    for key, value in inputs[1:]:
        for shift, cache in enumerate(caches):
            answer = cache.update(key.clone() + shift, value.clone() - shift)
            rows += [tensor_of(answer[0]).flatten(), tensor_of(answer[1]).flatten()]
            kept.append((answer[0], tensor_of(answer[0]).clone()))
    rows.append((tensor_of(kept[0][0]) - kept[0][1]).flatten())
    alike = all(tensor_of(part).dtype == inputs[1][0].dtype for part in answer[:2])
    return torch.cat([row.double() for row in [*rows, torch.tensor([float(alike)])]])


class _Cache:
    """The right one, or one with another way to join, to begin or to hand out."""

    def __init__(self, way: str = "", dim: int = -2) -> None:
        self.way, self.dim = way, dim
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far."""
        key, value = (key[:1], value[:1]) if self.way == "alone" else (key, value)
        value = key if self.way == "same" else value
        anew = self.way == "replace" or (self.way == "prompt" and key.shape[-2] > 1)
        if self.key is None or self.value is None or anew:
            self.key, self.value = key, value
        else:
            value, was = key if self.way == "mixed" else value, self.key if self.way == "onto" else self.value
            pairs = [(self.key, key), (was, value)]
            turned = {"front": (True, True), "ends": (True, False), "starts": (False, True)}.get(
                self.way, (False, False)
            )
            pairs = [pair[::-1] if turn else pair for pair, turn in zip(pairs, turned, strict=True)]
            self.key, self.value = (torch.cat(pair, self.dim) for pair in pairs)
        if self.way == "last":
            return key, value
        if self.way == "newest":
            answer, self.key, self.value = (self.key, self.value), key, value
            return answer
        return (self.value, self.key) if self.way == "swap" else (self.key, self.value)


class _OneStep(_Cache):
    """The place to write moves on by one, whatever came."""

    start = 0

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """What was written over is lost."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[:, :, : self.start], self.value[:, :, : self.start]
        self.start += 1
        return super().update(key, value)


def _cache_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for name, why, ways in (
        ("new keys replace the old ones", "what was kept is overwritten, not extended", {"way": "replace"}),
        ("several tokens at once replace what was kept", "a prompt may come in pieces", {"way": "prompt"}),
        ("only the new keys are handed out", "update has to return all keys so far", {"way": "last"}),
        ("new keys go in front of the old ones", "order is time: the new token is the last", {"way": "front"}),
        ("new keys go in front of the old ones, new values behind", "both have one place", {"way": "ends"}),
        ("new values go in front of the old ones, new keys behind", "both have one place", {"way": "starts"}),
        (
            "only what is new is kept for the next update",
            "what is handed out has to be kept, all of it",
            {"way": "newest"},
        ),
        ("keys and values are returned in the wrong order", "the contract is (keys, values)", {"way": "swap"}),
        ("keys are kept as values", "one tensor is stored in both places", {"way": "same"}),
        ("the values are joined from keys", "the new key is appended to the values", {"way": "mixed"}),
        ("new values are appended to the old keys", "two lists are kept, and one is read twice", {"way": "onto"}),
        ("only the first sentence is kept", "there is room for one sentence, whatever the batch", {"way": "alone"}),
        ("tokens are joined along the heads", "dimension 1 holds the heads", {"dim": 1}),
        ("tokens are joined along the batch", "dimension 0 holds the sentences", {"dim": 0}),
        ("tokens are joined along the features", "dimension -1 holds the features of a head", {"dim": -1}),
    ):
        mistake = named(
            name,
            f"{why}.",
            "(batch, heads, len, d_head): which dimension grows with each token?",
            "decoding with the cache writes other words than without it",
        )
        yield mistake, lambda *inputs, ways=ways: _steps_of_cache(partial(_Cache, **ways), inputs)
    one_step = named(
        "the place to write moves on by one, however many tokens came",
        "several tokens at once are a prompt: the next one stands behind all of them.",
        "By what does your position grow in one update?",
        "a prompt's tokens are written over, one after another",
    )
    yield one_step, lambda *inputs: _steps_of_cache(_OneStep, inputs)


def _updates(*lengths: int, batch: int = 2, caches: str = "one", sizes: tuple[int, int] = (3, 4)) -> tuple[Any, ...]:
    heads, d_head = sizes
    pairs = [
        (drawn(batch, heads, n, d_head, seed=i), drawn(batch, heads, n, d_head, seed=50 + i))
        for i, n in enumerate(lengths)
    ]
    return caches, *pairs


def _halved(updates: tuple[Any, ...]) -> tuple[Any, ...]:
    return updates[0], *((key.half(), value.half()) for key, value in updates[1:])


CACHE = Kind(
    "kv_cache",
    "cls() with update(key, value) -> (all keys, all values) so far, tensors (batch, heads, new, d_head)",
    [
        Experiment("one token at a time", _updates(1, 1, 1), tolerance=1e-6, options={"again": SHARED}),
        Experiment("three tokens, then two, then one", _updates(3, 2, 1), alone=ONE_BY_ONE),
        Experiment("one sentence", _updates(1, 1, batch=1)),
        Experiment("two caches in turn", _updates(1, 2, caches="two"), alone=SHARED),
        Experiment("five heads of six features", _updates(1, 1, batch=1, sizes=(5, 6)), alone=FIXED),
        Experiment("keys and values in half precision", _halved(_updates(1, 2)), alone=WIDENED, tolerance=1e-2),
        Experiment("three hundred tokens, one after another", _updates(*[1] * 300, batch=1), alone=LONG),
        Experiment("three tokens, then three hundred at once", _updates(3, 300, 2, batch=1), alone=LONG),
    ],
    lambda parameters: iter([("", lambda *inputs: _steps_of_cache(_Cache, inputs))]),
    _cache_wrongs,
    made=False,
    plain=True,
    call=_steps_of_cache,
)
KINDS = [ATTENTION, MULTI_HEAD, CAUSAL, PADDING, CACHE]

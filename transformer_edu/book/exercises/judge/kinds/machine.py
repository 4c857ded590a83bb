"""Encoder layers, decoder layers, and the whole Transformer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import EMPTY, KEPT, LONG, TRAINING, Experiment, Masked
from transformer_edu.book.exercises.judge.kind import Begins, Kind, Parameters, Two, drawn, joined, merged
from transformer_edu.book.exercises.judge.kinds.parts import EVENLY, THEIR_CODE, as_in_tensor2tensor
from transformer_edu.book.exercises.judge.making import by_name, logits_of
from transformer_edu.book.exercises.judge.mistakes import Wrong, of_decoder_layer, of_encoder_layer, of_whole
from transformer_edu.book.exercises.judge.model import (
    FEED_FORWARDS,
    IN_HEADS,
    LAYERS,
    MACHINES,
    NORMS,
    Steps,
    Style,
    attend_nearby,
    fitting,
    inside_alone,
    layer_norm,
    likely,
    look_up,
    norm_by_spread,
    of_layer,
    of_machine,
    pre_norm_decoder,
    pre_norm_encoder,
    with_eps,
)
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.masks import causal_mask, padding_mask

D_MODEL, HEADS, D_FF = 12, 3, 20
IN_ENCODER, IN_DECODER = 4 * D_MODEL**2 + 2 * D_MODEL * D_FF, 8 * D_MODEL**2 + 2 * D_MODEL * D_FF
LAYER = {"d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF, "dropout": 0.0}
CAUSAL_ALONE = "padding in a target is hidden by the causal mask alone: from what stands before it, not behind it"
UNSCALED = "embeddings are not multiplied by √d_model, as the paper does; it gives no reason"
PRE = "the norms stand before the parts (pre-norm); the paper has them after the sums"
X, MEMORY = drawn(2, 5, D_MODEL, seed=1), drawn(2, 5, D_MODEL, seed=2)
WIDER = {"d_model": 18, "num_heads": 6, "d_ff": 26}
WIDE, WIDE_MEMORY = drawn(3, 11, 18), drawn(3, 13, 18)
LONGER = drawn(2, 7, D_MODEL, seed=3)
REAL = Masked(padding_mask(torch.tensor([[5, 5, 5, 5, 5], [5, 5, 5, 0, 0]]), 0).expand(2, 1, 5, 5).contiguous())
EVERY = Masked(torch.ones(2, 1, 5, 5, dtype=torch.bool))
LATER = Masked(causal_mask(5)[None, None].expand(2, 1, 5, 5).contiguous())
REAL_LONGER = Masked(
    padding_mask(torch.tensor([[5, 5, 5, 5, 5, 0, 0], [5, 5, 5, 0, 0, 0, 0]]), 0).expand(2, 1, 5, 7).contiguous()
)

ROW, ROW_LONGER = (Masked(masked.mask[:, :, :1].contiguous()) for masked in (REAL, REAL_LONGER))

ENCODER_EXPERIMENTS = [
    Experiment("two sentences", (X,)),
    Experiment("one sentence", (X[:1],)),
    Experiment("a padding mask", (X, REAL)),
    Experiment("a causal mask", (X, LATER)),
    Experiment("a padding mask of one row for all queries", (X, ROW)),
    Experiment("300 tokens", (drawn(1, 300, D_MODEL),), alone=LONG),
    Experiment("in training, with dropout 0", (X, REAL), how="training", alone=TRAINING),
    Experiment("dropout of one half", (X,), how="dropout"),
    Experiment("dropout, where attention and feed-forward give zeros", (X,), how="dropout", options=EMPTY),
    Experiment("after another sentence", (X, REAL), alone=KEPT, options={"before": (MEMORY, EVERY)}),
    Experiment("after a shorter sentence", (X,), alone=KEPT, options={"before": (MEMORY[:, :3],)}),
    Experiment("after a longer sentence", (X,), alone=KEPT, options={"before": (LONGER,)}),
]
DECODER_EXPERIMENTS = [
    Experiment("target and source of five tokens", (X, MEMORY)),
    Experiment("five target tokens, seven of the source", (X, LONGER)),
    Experiment("a causal mask", (X, MEMORY, LATER, REAL)),
    Experiment("a causal mask, and a longer source with padding", (X, LONGER, LATER, REAL_LONGER)),
    Experiment("a causal mask alone", (X, LONGER, LATER)),
    Experiment("padding of the source alone", (X, LONGER, None, REAL_LONGER)),
    Experiment("padding of the source, one row for all queries", (X, LONGER, None, ROW_LONGER)),
    Experiment("padding of the target alone, one row for all queries", (X, LONGER, ROW)),
    Experiment("one sentence", (X[:1], LONGER[:1])),
    Experiment("300 tokens", (drawn(1, 300, D_MODEL), drawn(1, 300, D_MODEL, seed=9)), alone=LONG),
    Experiment("in training, with dropout 0", (X, MEMORY, LATER, REAL), how="training", alone=TRAINING),
    Experiment("dropout of one half", (X, MEMORY), how="dropout"),
    Experiment("dropout, where attention and feed-forward give zeros", (X, MEMORY), how="dropout", options=EMPTY),
    Experiment(
        "after another sentence", (X, MEMORY, LATER, REAL), alone=KEPT, options={"before": (MEMORY, X, LATER, EVERY)}
    ),
    Experiment("after a shorter sentence", (X, LONGER), alone=KEPT, options={"before": (X[:, :3], MEMORY[:, :2])}),
    Experiment("after a longer sentence", (X, MEMORY), alone=KEPT, options={"before": (LONGER, drawn(2, 9, D_MODEL))}),
]


def applies(steps: Steps, style: Style) -> bool:
    """Whether a component of this style has the step that a mistake replaces."""
    right = Steps()
    nearby = getattr(steps.attend, "func", None) is attend_nearby
    return (
        (steps.attend is right.attend or nearby is (style.positions == "nearby"))
        and (style.gated or steps.gated is right.gated)
        and (not style.gated or steps.feed_forward is right.feed_forward)
        and (style.positions in ("turned", "part") or steps.turn is right.turn)
        and (style.positions == "sinusoidal" or steps.table is right.table)
        and (style.positions in ("learned", "shared", "sinusoidal") or steps.place is right.place)
        and (style.final or (steps.end is right.end and steps.end_memory is right.end_memory))
        and (style.norms == steps.norms or steps.encoder_layer is right.encoder_layer)
    )


def within(mistaken: Steps, usual: Steps, eps: float) -> Steps:
    """A mistake among other right steps than the paper's, its norm with this epsilon."""
    right = Steps()
    if mistaken.norm is not right.norm:
        mistaken = replace(mistaken, norm=with_eps(mistaken.norm, eps))
    pairs = {step.name: (getattr(mistaken, step.name), getattr(right, step.name)) for step in fields(Steps)}
    return replace(usual, **{name: mine for name, (mine, theirs) in pairs.items() if mine is not theirs})


def both(first: Steps, second: Steps) -> Steps | None:
    """Two mistakes in one machine; None if both exchange the same step."""
    own: dict[str, Any] = {}
    for step in fields(Steps):
        one, other, right = (getattr(steps, step.name) for steps in (first, second, Steps()))
        if one is not right and other is not right:
            one = merged(one, other)
            if one is None:
                return None
        own[step.name] = other if one is right else one
    return Steps(**own)


def _in_heads_alone(steps: Steps) -> bool:
    return all(
        getattr(steps, step.name) is getattr(Steps(), step.name) or step.name in IN_HEADS for step in fields(Steps)
    )


Settings = Iterator[tuple[str, Steps]]


def kind_of(
    name: str,
    is_called: str,
    some: list[Style],
    reference: Callable[[Steps, Any, Style], Reference],
    settings: Callable[..., Settings],
    usual: Callable[..., Settings],
    mistakes: Callable[[Parameters], Iterable[Wrong]],
    experiments: Sequence[Experiment] = (),
    **more: Any,
) -> Kind:
    """A kind whose right answers are a reference in several styles and settings, and its mistakes the same."""

    def rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
        fit = fitting(some, parameters, partial(reference, Steps(), parameters.sizes))
        for ways, style in product(dict.fromkeys((usual, settings)), fit):  # what is usual in any style comes first
            for remark, steps in ways(style, parameters):
                yield remark, reference(steps, parameters.sizes, style)

    def arranged(parameters: Parameters) -> Iterator[tuple[Style, Steps]]:
        styles = likely(some, parameters, partial(reference, Steps(), parameters.sizes))
        return ((style, steps) for style in styles for steps in _of_epsilons(usual, style, parameters))

    def wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
        made = partial(_mistaken, list(mistakes(parameters)), _epsilons(parameters))
        for style, setting in parameters.arranged or arranged(parameters):
            for mistake, steps in made(style, setting):
                yield mistake, reference(steps, parameters.sizes, style)

    def as_usual(parameters: Parameters) -> Iterator[Reference]:
        return (reference(steps, parameters.sizes, style) for style, steps in arranged(parameters))

    return Kind(
        name,
        is_called,
        list(experiments),
        rights,
        wrongs,
        as_usual,
        styled=partial(_styled, some, reference),
        listed=mistakes,
        paired=partial(_pairs, reference, mistakes, arranged),
        **more,
    )


def _styled(
    some: list[Style], reference: Callable[[Steps, Any, Style], Reference], parameters: Parameters
) -> Iterator[Reference]:
    for style in fitting(some, parameters, partial(reference, Steps(), parameters.sizes)):
        yield reference(Steps(), parameters.sizes, style)


def _pairs(
    reference: Callable[[Steps, Any, Style], Reference],
    mistakes: Callable[[Parameters], Iterable[Wrong]],
    arranged: Callable[[Parameters], Iterable[tuple[Style, Steps]]],
    parameters: Parameters,
    begins: Begins,
) -> Iterator[tuple[Two, Reference]]:
    """One mistake that explains what is wrong where attention is silent, and any other; or two, both there or not."""
    listed, eps, apart = list(mistakes(parameters)), _epsilons(parameters)[0], []
    for style, setting in parameters.arranged or arranged(parameters):

        def made(steps: Steps, style: Style = style, setting: Steps = setting) -> Reference:
            return reference(within(steps, setting, eps), parameters.sizes, style)

        fit = [wrong for wrong in listed if applies(wrong[1], style)]
        heads, others = ([wrong for wrong in fit if _in_heads_alone(wrong[1]) == so] for so in (True, False))
        if begins(made(Steps())):
            yield from _of_two(combinations(heads, 2), made)
        elif firsts := [wrong for wrong in others if begins(made(wrong[1]))]:
            yield from _of_two(product(firsts, fit), made)
        else:
            apart.append((combinations(others, 2), made))
    for some, made in apart:  # which are the most
        yield from _of_two(some, made)


def _of_two(some: Iterable[tuple[Wrong, Wrong]], made: Callable[[Steps], Reference]) -> Iterator[tuple[Two, Reference]]:
    for (first, steps), (second, more) in some:
        if (mistaken := both(steps, more)) is not None:
            yield (first, second), made(mistaken)


def _epsilons(parameters: Parameters) -> tuple[float, ...]:
    """Of a component's norms: what they say, or what is usual."""
    return (parameters.eps,) if parameters.says_eps else (1e-5, 1e-6)


def _of_epsilons(usual: Callable[..., Settings], style: Style, parameters: Parameters) -> Iterator[Steps]:
    for eps in _epsilons(parameters):
        yield from (steps for _, steps in usual(style, replace(parameters, eps=eps)))


def _mistaken(listed: list[Wrong], epsilons: tuple[float, ...], style: Style, setting: Steps) -> Iterator[Wrong]:
    """The known mistakes that a component of this style can make, among these right steps."""
    for mistake, steps in listed:
        if applies(steps, style):
            for eps in epsilons if steps.norm is not Steps().norm else epsilons[:1]:
                yield mistake, within(steps, setting, eps)


def _arrangements(style: Style, parameters: Parameters, usual: bool = False, whole: bool = False) -> Settings:
    """Norms behind the parts or before them, ReLU or GELU, layer norm or RMS norm; the usual ones, with its epsilon."""
    usually = [("", with_eps(norm, parameters.eps)) for norm in (layer_norm, norm_by_spread)[: 1 + whole]]
    norms = usually if usual else NORMS
    orders = ("", Steps()), (PRE, Steps(encoder_layer=pre_norm_encoder, decoder_layer=pre_norm_decoder))
    for (more, norm), (remark, feed_forward), (order, steps) in product(norms, FEED_FORWARDS, orders):
        yield joined(order, remark, more), replace(steps, feed_forward=feed_forward, norm=norm)


ENCODER_LAYER = kind_of(
    "encoder_layer",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, mask=None) on (batch, seq, d_model)",
    LAYERS,
    of_layer,
    _arrangements,
    partial(_arrangements, usual=True),
    lambda parameters: of_encoder_layer(),
    ENCODER_EXPERIMENTS,
    options=LAYER,
    least=IN_ENCODER,
).at(
    [Experiment("18 features, six heads", (WIDE,)), Experiment("one sentence of them", (WIDE[:1],))],
    4 * 18**2 + 2 * 18 * 26,
    **WIDER,
)
OWN_SIGHT = "its self-attention hides what comes later by itself"


def _of_decoder(style: Style, parameters: Parameters, usual: bool = False) -> Settings:
    """The right ways of a decoder layer: what comes later is hidden by its mask, or by itself."""
    for remark, steps in _arrangements(style, parameters, usual):
        yield remark, steps
        yield joined(remark, OWN_SIGHT), replace(steps, self_mask=lambda target, memory, *n: inside_alone(target, n[0]))


SLOTS: dict[str, str | tuple[str, ...]] = {
    "x": (r"^(?!.*(mem|(?<!u)enc|context|cross|source|src|kv|mask))", r""),  # some take the memory first
    "memory": r"^(?!.*mask)(?=.*(mem|enc|context|cross|source|src|kv))",
    "target_mask": (
        r"^(?!.*(mem|enc|source|src|cross|context|pad)).*(mask|bias)",
        r"^(?!.*(mem|enc|source|src|cross|context)).*(tgt|target|trg|dec|self).*mask",
    ),
    "memory_mask": r"(mem|enc|source|src|cross|context).*mask|mask.*(mem|enc|source|src|cross|context)"
    r"|^(?!.*(tgt|target|trg|dec|self)).*(pad.*mask|mask.*pad)",
}
DECODER_LAYER = kind_of(
    "decoder_layer",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, memory, target_mask=None, memory_mask=None)",
    LAYERS,
    partial(of_layer, cross=True),
    _of_decoder,
    partial(_of_decoder, usual=True),
    lambda parameters: of_decoder_layer(),
    DECODER_EXPERIMENTS,
    options=LAYER,
    least=IN_DECODER,
    call=partial(by_name, slots=SLOTS),
).at(
    [
        Experiment("18 features, six heads", (WIDE, WIDE_MEMORY)),
        Experiment("one sentence of them", (WIDE[:1], WIDE_MEMORY[:1])),
    ],
    8 * 18**2 + 2 * 18 * 26,
    **WIDER,
)

# ------------------------------------------------------------------ the whole

SIZES = {"source_vocab": 11, "target_vocab": 17, "d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF, "num_layers": 1}
OTHER_PAD = 2  # stands in one experiment, and there for padding


def _every_word(source_vocab: int, target_vocab: int) -> tuple[Tensor, Tensor]:
    """Two sentences in each language with every word of it, but for padding."""
    source = [word for word in range(1, source_vocab) if word != OTHER_PAD]
    target = list(range(1, target_vocab))
    return tuple(  # type: ignore[return-value]
        torch.tensor(ids + ids[3 : 3 + len(ids) % 2]).view(2, -1) for ids in (source, target)
    )


SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 4, 10]])
TARGET = torch.tensor([[1, 5, 6, 9], [1, 8, 16, 3]])
PADDED_SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0]])
GAPS = torch.tensor([[1, 0, 6, 9], [1, 8, 0, 3]])
PADDED_TARGET = torch.tensor([[1, 5, 6, 9], [1, 8, 0, 0]])


def _with_padding(ids: Tensor, pad_id: int) -> Tensor:
    return ids.masked_fill(ids == 0, pad_id)


def _padding_of(source: Tensor) -> int:
    return OTHER_PAD if bool((source == OTHER_PAD).any()) else 0


def _call(model: Any, inputs: tuple[Any, ...]) -> Any:
    return logits_of(model(*inputs)) * (inputs[1] != _padding_of(inputs[0]))[..., None]


def _log(logits: Tensor) -> Tensor:
    return logits.log_softmax(-1)


def tables_of(style: Style) -> list[tuple[str, dict[str, Any]]]:
    """The right tables of sinusoids, where a whole model of this style has any."""
    even = f"in its sinusoids {EVENLY}{THEIR_CODE}", {"table": EVEN_TABLE}
    return [("", {}), even] if style.positions == "sinusoidal" else [("", {})]


EVEN_TABLE = partial(as_in_tensor2tensor, False, True)  # one, so that it is known again


def _of_machine(style: Style, parameters: Parameters, usual: bool = False) -> Settings:
    """The right ways of a whole one; also logarithms, embeddings that are not scaled, and no padding."""
    masked: list[tuple[str, dict[str, Any]]] = [("", {})]
    if "pad_id" not in parameters.taken:
        nowhere = {name: lambda ids, pad: None for name in ("source_mask", "memory_mask")}
        masked.append((NO_PADDING, {"target_mask": lambda ids, pad: causal_mask(ids.shape[1]), **nowhere}))
    ends: list[tuple[str, dict[str, Any]]] = [("", {}), (UNSCALED, {"embed": look_up}), (LOGARITHMS, {"logits": _log})]
    learned = joined("" if style.positions == "sinusoidal" else LEARNED, OPENED if style.opened else "")
    tables = tables_of(style)
    for arranged, steps in _arrangements(style, parameters, usual, whole=True):
        is_pre = steps.encoder_layer is pre_norm_encoder
        norms = (NO_END if is_pre else "") if not style.final else ("" if is_pre else AN_END)
        for (more, end), (open_to, masks), (spread, table) in product(ends[: 2 if usual else None], masked, tables):
            yield joined(arranged, norms, more, learned, spread, open_to), replace(steps, **end, **masks, **table)


LOGARITHMS = "it returns logarithms of probabilities, not logits"
NO_PADDING = "it takes no id of padding and masks none: all sentences of a batch must be of one length"
LEARNED = "positions are learned, where the paper computes them; it found both to do as well"
OPENED = "a norm stands behind the embeddings of each side (as in BART), where the paper has none"
LOST = "a mask of padding does not reach every layer: with two of them, padding is looked at"
NO_END, AN_END = "no stack ends with a norm", "each stack ends with a norm, which the paper has not"

TRANSFORMER = kind_of(
    "transformer",
    "cls(config) or cls(source_vocab_size, target_vocab_size, ...); forward(source_ids, target_ids) -> logits",
    MACHINES,
    partial(of_machine, pad_of=_padding_of),
    _of_machine,
    partial(_of_machine, usual=True),
    lambda parameters: of_whole(),
    [
        Experiment("two sentences", _every_word(11, 17)),
        Experiment("a source with padding", (PADDED_SOURCE, TARGET)),
        Experiment("padding in both", (PADDED_SOURCE, PADDED_TARGET)),
        Experiment("padding between the words of a target", (PADDED_SOURCE, GAPS), alone=CAUSAL_ALONE, remark=True),
        Experiment("one sentence", (SOURCE[:1], TARGET[:1])),
        Experiment("as long a target as source", (SOURCE, SOURCE)),
        Experiment(
            "a source with padding before and between its words",
            (torch.tensor([[0, 3, 4, 5, 6], [8, 9, 0, 4, 10]]), TARGET),
            alone="it takes padding to be at the end of a source: real tokens are counted, and not looked for",
        ),
        Experiment("120 tokens", (SOURCE.repeat(1, 24), TARGET.repeat(1, 30)), alone=LONG, tolerance=3e-3),
        Experiment(
            "another padding id",
            (_with_padding(PADDED_SOURCE, OTHER_PAD), _with_padding(PADDED_TARGET, OTHER_PAD)),
            alone="padding is taken to be 0, whatever pad_id says",
            options={"pad_id": OTHER_PAD, "asks": "pad_id"},
        ),
        Experiment("in training, with dropout 0", (PADDED_SOURCE, TARGET), how="training", alone=TRAINING),
        Experiment("dropout of one half", (SOURCE, TARGET), how="dropout"),
        *(
            Experiment(f"after {how} sentence", (PADDED_SOURCE, TARGET), alone=KEPT, options={"before": before})
            for how, before in (
                ("another", (SOURCE, TARGET)),
                ("a shorter", (SOURCE[:, :2], TARGET[:, :3])),
                ("a longer", (SOURCE.repeat(1, 2), TARGET.repeat(1, 2))),
            )
        ),
        Experiment("on another device", (PADDED_SOURCE, TARGET), how="moved", remark=True),
    ],
    least=IN_ENCODER + IN_DECODER + (11 + 17) * D_MODEL,
    options={**SIZES, "dropout": 0.0, "pad_id": 0, "max_len": 128},
    call=_call,
).at(
    [
        Experiment("18 features, six heads, two layers", _every_word(19, 27)),
        Experiment("one of them", (SOURCE[:1], TARGET[:1])),
        Experiment("a source with padding", (PADDED_SOURCE, TARGET), alone=LOST),
    ],
    2 * (12 * 18**2 + 4 * 18 * 26) + (19 + 27) * 18,
    source_vocab=19,
    target_vocab=27,
    num_layers=2,
    **WIDER,
)
KINDS = [ENCODER_LAYER, DECODER_LAYER, TRANSFORMER]

"""Encoder layers, decoder layers, and the whole Transformer."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import EMPTY, KEPT, LONG, TRAINING, Experiment, Masked
from transformer_edu.book.exercises.judge.kind import Kind, Parameters, drawn, joined
from transformer_edu.book.exercises.judge.making import by_name, logits_of
from transformer_edu.book.exercises.judge.mistakes import Wrong, named, of_decoder_layer, of_encoder_layer, of_whole
from transformer_edu.book.exercises.judge.model import (
    FEED_FORWARDS,
    LAYERS,
    MACHINES,
    NORMS,
    Layer,
    Steps,
    Style,
    fitting,
    likely,
    look_up,
    of_layer,
    of_machine,
    pre_norm_decoder,
    pre_norm_encoder,
    with_eps,
)
from transformer_edu.book.exercises.judge.numbers import Reference
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.positional import sinusoidal_table

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

ROW, ROW_LONGER = (Masked(one.mask[:, :, :1].contiguous()) for one in (REAL, REAL_LONGER))

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
]
DECODER_EXPERIMENTS = [
    Experiment("target and source of five tokens", (X, MEMORY)),
    Experiment("five target tokens, seven of the source", (X, LONGER)),
    Experiment("a causal mask", (X, MEMORY, LATER, REAL)),
    Experiment("a causal mask, and a longer source with padding", (X, LONGER, LATER, REAL_LONGER)),
    Experiment("a causal mask alone", (X, LONGER, LATER)),
    Experiment("padding of the source alone", (X, LONGER, None, REAL_LONGER)),
    Experiment("padding of the source, one row for all queries", (X, LONGER, None, ROW_LONGER)),
    Experiment("one sentence", (X[:1], LONGER[:1])),
    Experiment("300 tokens", (drawn(1, 300, D_MODEL), drawn(1, 300, D_MODEL, seed=9)), alone=LONG),
    Experiment("in training, with dropout 0", (X, MEMORY, LATER, REAL), how="training", alone=TRAINING),
    Experiment("dropout of one half", (X, MEMORY), how="dropout"),
    Experiment("dropout, where attention and feed-forward give zeros", (X, MEMORY), how="dropout", options=EMPTY),
    Experiment(
        "after another sentence", (X, MEMORY, LATER, REAL), alone=KEPT, options={"before": (MEMORY, X, LATER, EVERY)}
    ),
]


def _arrangements() -> Iterator[tuple[str, Steps]]:
    """Right ones: norms behind the parts or before them, ReLU or GELU, layer norm or RMS norm."""
    for more, norm in NORMS:
        for remark, feed_forward in FEED_FORWARDS:
            steps = Steps(feed_forward=feed_forward, norm=norm)
            for order, arranged in (("", steps), (PRE, _pre(steps))):
                yield joined(order, remark, more), arranged


def _layer_rights(parameters: Parameters, cross: bool) -> Iterator[tuple[str, Reference]]:
    for style in fitting(LAYERS, parameters, _layer(parameters, cross)):
        for remark, steps in _arrangements():
            yield remark, _layer(parameters, cross, steps)(style)


def _layer(parameters: Parameters, cross: bool, steps: Steps = Steps(), **how: Any) -> Callable[[Style], Reference]:  # noqa: B008
    return lambda style: of_layer(steps, parameters.sizes, style, cross, **how)


def _likely(parameters: Parameters, cross: bool) -> list[Style]:
    return likely(LAYERS, parameters, _layer(parameters, cross))


def _both(mistakes: Iterator[Wrong], parameters: Parameters) -> Iterator[Wrong]:
    """Mistakes in a post-norm and in a pre-norm machine with the component's ε, with ReLU and with GELU."""
    for mistake, steps in mistakes:
        usual = steps.feed_forward is Steps().feed_forward
        for think in [one for _, one in FEED_FORWARDS] if usual else [steps.feed_forward]:
            one = replace(steps, norm=with_eps(steps.norm, parameters.eps), feed_forward=think)
            yield mistake, one
            yield mistake, _pre(one)


def _encoder_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for style in _likely(parameters, False):
        for mistake, steps in _both(of_encoder_layer(), parameters):
            yield mistake, of_layer(steps, parameters.sizes, style)


ONE_ATTENTION = named(
    "one module is used for both attentions",
    "self-attention and cross-attention have projections of their own.",
    "Which of your two attention modules does forward not call?",
    "fewer parameters are trained than there are",
)
ONE_NORM = named(
    "one norm stands in two places",
    "each sub-layer has a norm of its own: an index that was copied uses one of them twice, another never.",
    "Which of your norms does forward not call?",
    "fewer parameters are trained than there are",
)


def _with_norms(places: tuple[int, ...], layer: Layer) -> Layer:
    return replace(layer, norms=tuple(layer.norms[one] for one in places))


def _decoder_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for style in _likely(parameters, True):
        for _, steps in _both(iter([(ONE_NORM, Steps())]), parameters):
            reference = partial(of_layer, steps, parameters.sizes, style, True)
            yield ONE_ATTENTION, reference(lambda layer: replace(layer, cross=layer.self_attention))
            for places in ((0, 0, 2), (0, 1, 1), (0, 1, 0), (0, 0, 0)):
                yield ONE_NORM, reference(partial(_with_norms, places))
        for mistake, steps in _both(of_decoder_layer(), parameters):
            yield mistake, of_layer(steps, parameters.sizes, style, True)


def _pre(steps: Steps) -> Steps:
    right = Steps()
    return replace(
        steps,
        encoder_layer=pre_norm_encoder if steps.encoder_layer is right.encoder_layer else steps.encoder_layer,
        decoder_layer=pre_norm_decoder if steps.decoder_layer is right.decoder_layer else steps.decoder_layer,
    )


ENCODER_LAYER = Kind(
    "encoder_layer",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, mask=None) on (batch, seq, d_model)",
    ENCODER_EXPERIMENTS,
    lambda parameters: _layer_rights(parameters, False),
    _encoder_wrongs,
    options=LAYER,
    least=IN_ENCODER,
).at(
    [Experiment("18 features, six heads", (WIDE,)), Experiment("one sentence of them", (WIDE[:1],))],
    4 * 18**2 + 2 * 18 * 26,
    **WIDER,
)
SLOTS = {
    "x": r"",
    "memory": r"^(?!.*mask)(?=.*(mem|enc|context|cross|source|src|kv))",
    "target_mask": r"^(?!.*(mem|enc|source|src|cross|context|pad)).*(mask|bias)",
    "memory_mask": r"(mem|enc|source|src|cross|context|pad).*mask|mask.*(mem|enc|source|src|cross|context|pad)",
}
DECODER_LAYER = Kind(
    "decoder_layer",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, memory, target_mask=None, memory_mask=None)",
    DECODER_EXPERIMENTS,
    lambda parameters: _layer_rights(parameters, True),
    _decoder_wrongs,
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


def _machine(parameters: Parameters, steps: Steps = Steps()) -> Callable[[Style], Reference]:  # noqa: B008
    return lambda style: of_machine(steps, parameters.sizes, style, _padding_of)


def _machine_rights(parameters: Parameters) -> Iterator[tuple[str, Reference]]:
    """The paper's, and what is remarked of others: norms, activations, logarithms, embeddings that are not scaled."""
    masked: list[tuple[str, dict[str, Any]]] = [("", {})]
    if "pad_id" not in parameters.taken:
        nowhere = {name: lambda ids, pad: None for name in ("source_mask", "memory_mask")}
        masked.append((NO_PADDING, {"target_mask": lambda ids, pad: causal_mask(ids.shape[1]), **nowhere}))
    for style in fitting(MACHINES, parameters, _machine(parameters)):
        for arranged, steps in _arrangements():
            is_pre = arranged.startswith(PRE)
            ends = (NO_END if is_pre else "") if not style.final else ("" if is_pre else AN_END)
            for told, one in (
                ("", steps),
                (UNSCALED, replace(steps, embed=look_up)),
                ("it returns logarithms of probabilities, not logits", replace(steps, logits=_log)),
            ):
                for open_to, masks in masked:
                    chosen = replace(one, **masks)
                    learned = "" if style.positions == "sinusoidal" else LEARNED
                    yield joined(arranged, ends, told, learned, open_to), _machine(parameters, chosen)(style)


NO_PADDING = "it takes no id of padding and masks none: all sentences of a batch must be of one length"
LEARNED = "positions are learned, where the paper computes them; it found both to do as well"
NO_END, AN_END = "no stack ends with a norm", "each stack ends with a norm, which the paper has not"


def _machine_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Reference]]:
    for style in likely(MACHINES, parameters, _machine(parameters)):
        for mistake, steps in _both(of_whole(), parameters):
            if style.positions == "sinusoidal" or steps.table is sinusoidal_table:
                yield mistake, _machine(parameters, steps)(style)


TRANSFORMER = Kind(
    "transformer",
    "cls(config) or cls(source_vocab_size, target_vocab_size, ...); forward(source_ids, target_ids) -> logits",
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
        Experiment("after another sentence", (PADDED_SOURCE, TARGET), alone=KEPT, options={"before": (SOURCE, TARGET)}),
        Experiment("on another device", (PADDED_SOURCE, TARGET), how="moved", remark=True),
    ],
    _machine_rights,
    _machine_wrongs,
    least=IN_ENCODER + IN_DECODER + (11 + 17) * D_MODEL,
    options={**SIZES, "dropout": 0.0, "pad_id": 0, "max_len": 128},
    call=_call,
).at(
    [
        Experiment("18 features, six heads, two layers", _every_word(19, 27)),
        Experiment("one of them", (SOURCE[:1], TARGET[:1])),
    ],
    2 * (12 * 18**2 + 4 * 18 * 26) + (19 + 27) * 18,
    source_vocab=19,
    target_vocab=27,
    num_layers=2,
    **WIDER,
)
KINDS = [ENCODER_LAYER, DECODER_LAYER, TRANSFORMER]

"""Encoder layers, decoder layers, and the whole Transformer."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import EMPTY, KEPT, LONG, TRAINING, Experiment, Masked
from transformer_edu.book.exercises.judge.kind import Function, Kind, Parameters, drawn
from transformer_edu.book.exercises.judge.mistakes import named, of_decoder_layer, of_encoder_layer, of_machine
from transformer_edu.book.exercises.judge.model import (
    FEED_FORWARDS,
    Steps,
    decode_layer,
    encode_layer,
    pre_norm_decoder,
    pre_norm_encoder,
    translate,
)
from transformer_edu.book.exercises.judge.weights import layers_of, machines_of
from transformer_edu.masks import causal_mask, padding_mask

D_MODEL, HEADS, D_FF = 12, 3, 20
IN_ENCODER, IN_DECODER = 4 * D_MODEL**2 + 2 * D_MODEL * D_FF, 8 * D_MODEL**2 + 2 * D_MODEL * D_FF
LAYER = {"d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF, "dropout": 0.0}
UNSCALED = "embeddings are not multiplied by √d_model, as the paper does; it gives no reason"
PRE = "the norms stand before the parts (pre-norm); the paper has them after the sums"
X, MEMORY = drawn(2, 5, D_MODEL, seed=1), drawn(2, 5, D_MODEL, seed=2)
WIDER = {"d_model": 30, "num_heads": 5, "d_ff": 44}
WIDE, WIDE_MEMORY = drawn(3, 11, 30), drawn(3, 13, 30)
LONGER = drawn(2, 7, D_MODEL, seed=3)
REAL = Masked(padding_mask(torch.tensor([[5, 5, 5, 5, 5], [5, 5, 5, 0, 0]]), 0).expand(2, 1, 5, 5).contiguous())
EVERY = Masked(torch.ones(2, 1, 5, 5, dtype=torch.bool))
LATER = Masked(causal_mask(5)[None, None].expand(2, 1, 5, 5).contiguous())
REAL_LONGER = Masked(
    padding_mask(torch.tensor([[5, 5, 5, 5, 5, 0, 0], [5, 5, 5, 0, 0, 0, 0]]), 0).expand(2, 1, 5, 7).contiguous()
)

ENCODER_EXPERIMENTS = [
    Experiment("two sentences", (X,)),
    Experiment("one sentence", (X[:1],)),
    Experiment("a padding mask", (X, REAL)),
    Experiment("a causal mask", (X, LATER)),
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
    Experiment("one sentence", (X[:1], LONGER[:1])),
    Experiment("300 tokens", (drawn(1, 300, D_MODEL), drawn(1, 300, D_MODEL, seed=9)), alone=LONG),
    Experiment("in training, with dropout 0", (X, MEMORY, LATER, REAL), how="training", alone=TRAINING),
    Experiment("dropout of one half", (X, MEMORY), how="dropout"),
    Experiment("dropout, where attention and feed-forward give zeros", (X, MEMORY), how="dropout", options=EMPTY),
    Experiment(
        "after another sentence", (X, MEMORY, LATER, REAL), alone=KEPT, options={"before": (MEMORY, X, LATER, EVERY)}
    ),
]


def _layers(parameters: Parameters, cross: bool) -> Iterator[Any]:
    d_model, heads, d_ff = (parameters.sizes[name] for name in ("d_model", "num_heads", "d_ff"))
    found = layers_of(parameters.named, d_model, heads, d_ff, set(parameters.linear), set(parameters.ones), cross)
    return islice(found, 160)


def _arrangements() -> Iterator[tuple[str, Steps]]:
    """Right ones: norms behind the parts or before them, ReLU or GELU."""
    for remark, feed_forward in FEED_FORWARDS:
        steps = Steps(feed_forward=feed_forward)
        yield remark, steps
        yield "; ".join(filter(None, [PRE, remark])), _pre(steps)


def _encoder_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    for remark, steps in _arrangements():
        for layer in _layers(parameters, False):
            yield remark, partial(encode_layer, steps, layer, parameters.sizes["num_heads"])


def _decoder_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    for remark, steps in _arrangements():
        for layer in _layers(parameters, True):
            yield remark, partial(decode_layer, steps, layer, parameters.sizes["num_heads"])


def _encoder_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    heads = parameters.sizes["num_heads"]
    for layer in islice(_layers(parameters, False), 4):
        for mistake, steps in of_encoder_layer():
            yield mistake, partial(encode_layer, steps, layer, heads)
            yield mistake, partial(encode_layer, _pre(steps), layer, heads)


def _decoder_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    one_attention = named(
        "one module is used for both attentions",
        "self-attention and cross-attention have projections of their own.",
        "Which of your two attention modules does forward not call?",
        "fewer parameters are trained than there are",
    )
    one_norm = named(
        "one norm stands in two places",
        "each sub-layer has a norm of its own: an index that was copied uses one of them twice, another never.",
        "Which of your norms does forward not call?",
        "fewer parameters are trained than there are",
    )
    heads = parameters.sizes["num_heads"]
    for layer in islice(_layers(parameters, True), 6):
        for steps in (Steps(), _pre(Steps())):
            yield one_attention, partial(decode_layer, steps, replace(layer, cross=layer.self_attention), heads)
            yield one_attention, partial(decode_layer, steps, replace(layer, self_attention=layer.cross), heads)
            for places in ((0, 0, 2), (0, 1, 1), (0, 1, 0), (0, 0, 0)):
                norms = tuple(layer.norms[place] for place in places)
                yield one_norm, partial(decode_layer, steps, replace(layer, norms=norms), heads)
        for mistake, steps in of_decoder_layer():
            yield mistake, partial(decode_layer, steps, layer, heads)
            yield mistake, partial(decode_layer, _pre(steps), layer, heads)


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
    _encoder_rights,
    _encoder_wrongs,
    options=LAYER,
    least=IN_ENCODER,
).at(
    [Experiment("30 features, five heads", (WIDE,)), Experiment("one sentence of them", (WIDE[:1],))],
    4 * 30**2 + 2 * 30 * 44,
    **WIDER,
)
DECODER_LAYER = Kind(
    "decoder_layer",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, memory, target_mask=None, memory_mask=None)",
    DECODER_EXPERIMENTS,
    _decoder_rights,
    _decoder_wrongs,
    options=LAYER,
    least=IN_DECODER,
).at(
    [
        Experiment("30 features, five heads", (WIDE, WIDE_MEMORY)),
        Experiment("one sentence of them", (WIDE[:1], WIDE_MEMORY[:1])),
    ],
    8 * 30**2 + 2 * 30 * 44,
    **WIDER,
)

# ------------------------------------------------------------------ the whole

SIZES = {"source_vocab": 11, "target_vocab": 17, "d_model": D_MODEL, "num_heads": HEADS, "d_ff": D_FF, "num_layers": 2}
SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 4, 10]])
TARGET = torch.tensor([[1, 5, 6, 9], [1, 8, 16, 3]])
PADDED_SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0]])
PADDED_TARGET = torch.tensor([[1, 5, 6, 9], [1, 8, 0, 0]])


OTHER_PAD = 2  # stands in one experiment, and there for padding


def _with_padding(ids: Tensor, pad_id: int) -> Tensor:
    return ids.masked_fill(ids == 0, pad_id)


def _padding_of(source: Tensor) -> int:
    return OTHER_PAD if bool((source == OTHER_PAD).any()) else 0


def _real(steps: Steps, machine: Any, num_heads: int) -> Function:
    """A machine's answer; what stands at padding is nobody's business."""

    def run(source: Tensor, target: Tensor) -> Tensor:
        pad_id = _padding_of(source)
        return translate(steps, machine, num_heads, pad_id, source, target) * (target != pad_id)[..., None]

    return run


def _call(model: Any, inputs: tuple[Any, ...]) -> Any:
    answer = model(*inputs)
    logits = answer[0] if isinstance(answer, tuple | list) else getattr(answer, "logits", answer)
    return logits * (inputs[1] != _padding_of(inputs[0]))[..., None]


def _machines(parameters: Parameters) -> Iterator[Any]:
    return islice(machines_of(parameters.named, parameters.sizes, set(parameters.linear), set(parameters.ones)), 40)


def _log(logits: Tensor) -> Tensor:
    return logits.log_softmax(-1)


def _machine_rights(parameters: Parameters) -> Iterator[tuple[str, Function]]:
    pre = Steps(encoder_layer=pre_norm_encoder, decoder_layer=pre_norm_decoder)
    causal_only = lambda ids, pad: causal_mask(ids.shape[1])  # noqa: E731
    for machine in _machines(parameters):
        bare = replace(machine, final=())
        for steps, one, remark in (
            (Steps(), bare, ""),
            (Steps(), machine, "each stack ends with a norm, which the paper has not"),
            (pre, machine, PRE),
            (pre, bare, f"{PRE}; no stack ends with a norm"),
            (
                Steps(logits=_log),
                bare,
                "it returns logarithms of probabilities, not logits",
            ),
        ):
            if one is machine and not machine.final:
                continue
            for mask in (steps.target_mask, causal_only):
                chosen = replace(steps, target_mask=mask)
                yield remark, _real(chosen, one, parameters.sizes["num_heads"])
    unscaled = [
        ("; ".join(filter(None, [remark, UNSCALED])), replace(steps, embed=lambda table, ids: table[ids]))
        for remark, steps in list(_arrangements())[:2]
    ]
    for machine in islice(_machines(parameters), 6):
        for remark, steps in [*unscaled, *list(_arrangements())[2:]]:
            for one in (machine, replace(machine, final=())):
                yield remark, _real(steps, one, parameters.sizes["num_heads"])


def _machine_wrongs(parameters: Parameters) -> Iterator[tuple[Mistake, Function]]:
    for machine in islice(_machines(parameters), 6):
        for final in {machine.final, ()}:
            for mistake, steps in of_machine():
                yield mistake, _real(steps, replace(machine, final=final), parameters.sizes["num_heads"])


TRANSFORMER = Kind(
    "transformer",
    "cls(config) or cls(source_vocab_size, target_vocab_size, ...); forward(source_ids, target_ids) -> logits",
    [
        Experiment("two sentences", (SOURCE, TARGET)),
        Experiment("a source with padding", (PADDED_SOURCE, TARGET)),
        Experiment("padding in both", (PADDED_SOURCE, PADDED_TARGET)),
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
    least=2 * (IN_ENCODER + IN_DECODER) + (11 + 17) * D_MODEL,
    options={**SIZES, "dropout": 0.0, "pad_id": 0, "max_len": 200},
    call=_call,
).at(
    [
        Experiment("30 features, five heads, one layer", (SOURCE, TARGET)),
        Experiment("one of them", (SOURCE[:1], TARGET[:1])),
    ],
    12 * 30**2 + 4 * 30 * 44 + (19 + 27) * 30,
    source_vocab=19,
    target_vocab=27,
    num_layers=1,
    **WIDER,
)
KINDS = [ENCODER_LAYER, DECODER_LAYER, TRANSFORMER]

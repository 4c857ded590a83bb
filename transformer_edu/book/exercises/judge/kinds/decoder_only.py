"""Attention, blocks and whole models of one half: they read x alone, and see nothing that comes later."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu, silu

from transformer_edu.book.exercises.checks.components.feed_forward import network
from transformer_edu.book.exercises.checks.components.rotary import turn
from transformer_edu.book.exercises.judge.experiment import (
    ALIKE_WORDS,
    BEYOND,
    EMPTY,
    GIVEN,
    KEPT,
    LONG,
    OVERFLOW,
    TRAINING,
    Experiment,
    Masked,
)
from transformer_edu.book.exercises.judge.kind import Kind, Parameters, drawn, joined
from transformer_edu.book.exercises.judge.kinds.attention import ALIKE, BLIND, IN_FRONT, LEFT, TOO_LARGE, alike
from transformer_edu.book.exercises.judge.kinds.machine import LATER, REAL, Settings, kind_of, tables_of
from transformer_edu.book.exercises.judge.making import TAKES_MASK, TARGETS, logits_of, of_x, parameter_names
from transformer_edu.book.exercises.judge.mistakes import Wrong, of_attention, of_encoder_layer
from transformer_edu.book.exercises.judge.mistakes_since import (
    of_gates,
    of_gelus,
    of_language,
    of_more_norms,
    of_nearness,
    of_rms_norms,
    of_shared_heads,
    of_sight,
    of_sums,
    of_turns,
)
from transformer_edu.book.exercises.judge.model import (
    BY_TANH,
    FEED_FORWARDS,
    IN_LAYERS,
    Steps,
    Style,
    attend_nearby,
    by_norm,
    even_alibi,
    gated,
    layer_norm,
    look_up,
    norms_around,
    of_itself,
    of_language_model,
    pre_norm_encoder,
    rms_norm,
    styles,
    with_eps,
)


def _rms(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    return rms_norm(x, gamma, eps)


def _rms_of_one_plus(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    return rms_norm(x, 1 + gamma, eps)  # as in Gemma


SIZES = {"d_model": 12, "num_heads": 3}
WIDER = {"d_model": 30, "num_heads": 5}
SHARED = {"d_model": 24, "num_heads": 6, "num_kv_heads": 2}  # √d_model is not d_head, here and there
WIDER_SHARED = {"d_model": 48, "num_heads": 8, "num_kv_heads": 4}
MAX_LEN = 140
X = drawn(2, 5, 12, seed=1)
BOTH = Masked(LATER.mask & REAL.mask)
OWN = Masked(torch.eye(5, dtype=torch.bool).expand(2, 1, 5, 5).contiguous())
TURNED = styles(attention=("all", "none", "qkv", "out"), positions=("", "turned", "part", "nearby"))
NORMED = {"gain": ("", "head", "all"), "none": ("", "bare"), "both": ("",)}  # queries and keys, by the norms of a block


def _of_queries(some: list[Style]) -> list[Style]:
    """These styles, and, with rotary positions, norms of queries and keys."""
    return [replace(way, normed=n) for way in some for n in (NORMED[way.norm] if way.positions == "turned" else ("",))]


IN_BLOCK = {**IN_LAYERS, "positions": ("", "turned", "part", "nearby")}
BLOCKS = _of_queries(styles(gated=(False, True), **IN_BLOCK))
BLOCKS += [replace(style, norms=norms) for norms in (4, 3, 1) for style in BLOCKS if style.norm != "none"]
ENDS = {"projection": (False, True), "final": (True, False), "tied": ("", "target")}
MODELS = styles(
    gated=(False, True), **IN_LAYERS, **ENDS, positions=("learned", "turned", "sinusoidal", "part", "nearby")
)
MODELS = _of_queries(MODELS)
MODELS += [replace(style, norms=4) for style in MODELS if style.gated and style.norm == "gain"]
MODELS += [replace(style, norms=1) for style in MODELS if style.norms == 2 and style.norm == "both"]
MODELS += [replace(style, opened=True) for style in MODELS if style.norm == "both" and style.positions == "nearby"]
OTHER_END = {"gain": "both", "both": "gain"}  # of whoever leaves out biases in the blocks alone, or behind them alone
MODELS += [replace(style, final=OTHER_END[style.norm]) for style in MODELS if style.final and style.norm in OTHER_END]
GATES: list[tuple[str, Callable[..., Tensor]]] = [  # right ones, with what is remarked of each
    ("", gated),
    ("", partial(gated, inside=gelu)),
    ("", partial(gated, inside=BY_TANH)),
    ("the gate is a sigmoid (GLU, of 2016), not SiLU or GELU", partial(gated, inside=torch.sigmoid)),
    ("the gate is a ReLU (ReGLU), not SiLU or GELU", partial(gated, inside=torch.relu)),
]
PLAIN = [("", feed_forward) for _, feed_forward in FEED_FORWARDS[1:3]]
PLAIN += [("ReLU stands where GPT has GELU", FEED_FORWARDS[0][1])]
PLAIN += [("SiLU stands where GPT has GELU", partial(network, inside=silu))]
PLAIN += [("squared ReLU stands where GPT has GELU (as in nanochat)", partial(network, inside=lambda x: x.relu() ** 2))]
TURNS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("", turn),
    ("its rotary positions have the base 500,000", partial(turn, base=500_000.0)),
]
UNTURNED = [("", Steps().turn)]
PART = "its rotary positions turn a part of each head only (as in GPT-NeoX and Phi)"
PARTLY = [(PART, lambda x: torch.cat([turn(x[..., :2]), x[..., 2:]], -1))]
EVEN = "ALiBi's slopes are 2^(−8h/H) for any number of heads; the paper's code takes others where H is no power of 2"
NEARBY: list[tuple[str, Callable[..., Tensor]]] = [
    ("", attend_nearby),
    (EVEN, partial(attend_nearby, biases=even_alibi)),
]
NORMED_TOLD = {
    "": "",
    "head": "queries and keys are normed (as in Qwen 3)",
    "all": "queries and keys are normed, over all heads together (as in OLMo 2)",
    "bare": "queries and keys are normed, without gains (as in nanochat)",
}
OF_STYLE = {"both": (layer_norm,), "gain": (_rms, layer_norm, _rms_of_one_plus), "none": (layer_norm, _rms)}
BEHIND = "the norms stand behind the parts, in front of the sums (as in OLMo 2); GPT-2 has them before the parts"
AROUND = "norms stand before and behind the parts (as in Gemma 2 and 3); GPT-2 has them before the parts"
BESIDE = "attention and the feed-forward part read the same x, side by side (as in GPT-J and GPT-NeoX)"
OPENED = "a norm stands behind the embedding, too (as in BLOOM)"
BEGUN = "a norm stands behind the embedding, too (as in nanochat)"
POST = "the norms stand behind the sums (post-norm, as in GPT-1); GPT-2 has them before the parts"


def _experiments(d_model: int) -> list[Experiment]:
    """Of what reads x alone, and sees nothing later."""
    x, other = drawn(2, 5, d_model, seed=1), drawn(2, 5, d_model, seed=2)
    return [
        Experiment("two texts", (x,)),
        Experiment("one text", (x[:1],)),
        Experiment("a causal mask", (x, LATER)),
        Experiment("a causal mask and padding", (x, BOTH)),
        Experiment("padding", (x, REAL)),
        Experiment("120 tokens", (drawn(1, 120, d_model),), alone=LONG),
        Experiment(
            "more tokens than it was made for",
            (drawn(1, MAX_LEN + 8, d_model),),
            alone=BEYOND,
            options={"asks": "max_len", "may stop": True},
        ),
        Experiment("in training, with dropout 0", (x,), how="training", alone=TRAINING),
        Experiment(ALIKE, (alike(x),), how="dropout", options=ALIKE_WORDS),
        Experiment("dropout of one half", (x,), how="dropout"),
        Experiment("after another text", (x,), alone=KEPT, options={"before": (other,)}),
        Experiment("after a shorter text", (x,), alone=KEPT, options={"before": (other[:, :3],)}),
        Experiment("after a longer text", (x,), alone=KEPT, options={"before": (drawn(2, 9, d_model),)}),
        Experiment("after another text with padding", (x, LATER), alone=KEPT, options={"before": (other, REAL)}),
        Experiment(
            "after a text whose tokens see themselves", (x, LATER), alone=KEPT, options={"before": (other, OWN)}
        ),
    ]


def _elsewhere(d_model: int) -> list[Experiment]:
    """At another size."""
    return [
        Experiment(f"{d_model} features", (drawn(3, 7, d_model),)),
        Experiment("one text of them", (drawn(1, 7, d_model),)),
    ]


def _as_given(mask: Tensor | None, size: int) -> Tensor | None:
    return mask


def _sights(parameters: Parameters, causal: bool) -> list[tuple[str, Any]]:
    """What is let through: by itself nothing that comes later; or what the mask says, if it takes one."""
    alone = [("", Steps().see)] if causal else []
    return alone + ([(GIVEN if causal else "", _as_given)] if not causal or TAKES_MASK in parameters.taken else [])


def settings_of_attention(style: Style, parameters: Parameters, causal: bool = True, usual: bool = False) -> Settings:
    """The right ways of an attention that reads x alone; the usual ones, with positions of one base."""
    turns = {"turned": TURNS[: 1 if usual else None], "part": PARTLY}.get(style.positions, UNTURNED)
    looks = NEARBY if style.positions == "nearby" else [("", Steps().attend)]
    for (sight, see), (more, rotation), (told, attend) in product(_sights(parameters, causal), turns, looks):
        yield joined(sight, more, told), replace(Steps(), see=see, turn=rotation, attend=attend)


def _norms_behind(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> Tensor:
    y = x + norms[0](attend(x))
    return y + norms[1](feed_forward(y))


def _beside(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> Tensor:
    return x + attend(norms[0](x)) + feed_forward(norms[-1](x))


def _of_block(style: Style, parameters: Parameters, usual: bool = False, whole: bool = False) -> Settings:
    """The right ways of a block; the usual ones, with its own epsilon."""
    name, parts = ("gated", GATES) if style.gated else ("feed_forward", PLAIN)
    first = (1e-12,) if style.normed == "bare" else ()  # as torch's own function, where nobody says how much
    every = dict.fromkeys((*first, parameters.eps, 1e-5, 1e-6, 1e-12))
    norms = [(with_eps(norm, eps), eps) for eps in every for norm in OF_STYLE[style.norm]]
    orders = {"": pre_norm_encoder, POST: Steps().encoder_layer, BEHIND: _norms_behind, BESIDE: _beside}
    orders = orders if style.norms == 2 else {4: {AROUND: norms_around}, 1: {BESIDE: _beside}}.get(style.norms, {})
    attentions = list(settings_of_attention(style, parameters, usual=usual))
    if usual:
        from_zero = style.norm == "gain" and not bool(parameters.ones.any())
        likeliest = norms[2:3] if from_zero else norms[:1]
        parts, norms = parts[:3], norms[: len(OF_STYLE[style.norm])] if whole else likeliest
        both = ("", POST) if whole and not style.final else ("",)  # a last norm belongs to pre-norm
        orders = {name: orders[name] for name in both} if style.norms == 2 else orders or {"": pre_norm_encoder}
    settings = product(orders.items(), attentions, norms, parts)
    for (order, wiring), (seen, steps), (norm, eps), (more, fn) in settings:
        sized = {"sized": by_norm(partial(rms_norm, eps=eps))} if style.normed else {}
        told = joined(order, seen, more, NORMED_TOLD[style.normed])
        yield told, replace(steps, encoder_layer=wiring, norm=norm, **{name: fn}, **sized)


def _of_model(style: Style, parameters: Parameters, usual: bool = False) -> Settings:
    """The right ways of a whole model."""
    plain, scaled = ("", look_up), ("its embeddings are scaled by √d_model", Steps().embed)
    embeds = (plain, scaled)[: 1 if usual and style.positions in ("turned", "part") else 2]
    ends: list[tuple[str, dict[str, Any]]] = [("", {})]
    ends += [(f"its logits are capped, softly, at ±{c} (as in Gemma 2)", {"logits": _capped(c)}) for c in (30, 15)]
    if style.normed == "bare":  # all of nanochat at first
        begun = [(joined(BEGUN, told), {"begin": lambda norm, x: norm(x), **end}) for told, end in reversed(ends)]
        ends = [*begun, *ends]
    ends = ends[: 1 if usual and style.normed != "bare" else None]
    for (more, embed), (told, end), (spread, table) in product(embeds, ends, tables_of(style)):
        for remark, steps in _of_block(style, parameters, usual, whole=True):
            opened = OPENED if style.opened else ""
            yield joined(remark, more, told, spread, opened), replace(steps, embed=embed, **end, **table)


@cache
def _capped(most: float) -> Callable[[Tensor], Tensor]:
    return lambda logits: most * (logits / most).tanh()


def attention_kind(
    kind: Kind, sizes: dict[str, int], wider: dict[str, int], least: Callable[[dict[str, int]], int]
) -> Kind:
    """This kind as one of attention that reads x alone, at two sizes at which it learns `least(sizes)` numbers."""
    options = {**sizes, "dropout": 0.0, "max_len": MAX_LEN}
    x = drawn(2, 5, sizes["d_model"], seed=1)
    experiments = [
        *_experiments(sizes["d_model"]),
        Experiment("large scores and padding", (6 * x, REAL), alone=TOO_LARGE),
        Experiment("very large scores", (25 * x,), alone=TOO_LARGE, tolerance=1e-2),
        Experiment("half precision", (x,), how="half", alone=OVERFLOW, tolerance=3e-2),
        Experiment("padding before any real token", (x, Masked(LEFT)), remark=True, alone=BLIND),
        Experiment("padding in front, as a mask of keys", (x, Masked(IN_FRONT)), remark=True, alone=BLIND),
    ]
    made = replace(kind, experiments=experiments, options=options, unbiased=True, call=of_x, least=least(sizes))
    return made.at(_elsewhere(wider["d_model"]), least(wider), **wider)


def _of_shared(sizes: dict[str, int]) -> int:
    shared = sizes.get("num_kv_heads", sizes["num_heads"]) / sizes["num_heads"]
    return int(2 * sizes["d_model"] ** 2 * (1 + shared))


def _plain_attention(name: str, is_called: str, causal: bool, sizes: dict[str, int], wider: dict[str, int]) -> Kind:
    settings = partial(settings_of_attention, causal=causal)

    def mistakes(parameters: Parameters) -> Iterator[Wrong]:
        yield from of_sight(causal)
        yield from of_shared_heads(sizes.get("num_kv_heads", 0))
        yield from of_turns()
        yield from of_nearness()
        yield from of_attention()

    reference = partial(of_itself, layer=False)
    kind = kind_of(name, is_called, TURNED, reference, settings, settings, mistakes)
    return attention_kind(kind, sizes, wider, _of_shared)


CAUSAL = _plain_attention(
    "causal_self_attention",
    "cls(d_model, num_heads, dropout=0.0); forward(x, mask=None) on (batch, seq, d_model), sees nothing later",
    True,
    SIZES,
    WIDER,
)
ITSELF = _plain_attention(
    "self_attention",
    "cls(d_model, num_heads, dropout=0.0); forward(x, mask=None) on (batch, seq, d_model), sees all without a mask",
    False,
    SIZES,
    WIDER,
)
GROUPED = _plain_attention(
    "grouped_query_attention",
    "cls(d_model, num_heads, num_kv_heads, dropout=0.0); forward(x, mask=None), sees nothing later",
    True,
    SHARED,
    WIDER_SHARED,
)
BLOCK = kind_of(
    "decoder_only_block",
    "cls(d_model, num_heads, d_ff, dropout=0.0); forward(x, mask=None): norms before the parts, sees nothing later",
    BLOCKS,
    partial(of_itself, layer=True),
    _of_block,
    partial(_of_block, usual=True),
    lambda parameters: (
        *of_nearness(),
        *of_sight(True),
        *of_encoder_layer(),
        *of_more_norms(),
        *of_sums(),
        *of_rms_norms(),
        *of_gates(),
        *of_gelus(),
        *of_turns(),
    ),
    [
        *_experiments(12),
        Experiment("dropout, where attention and feed-forward give zeros", (X,), how="dropout", options=EMPTY),
    ],
    options={**SIZES, "d_ff": 20, "dropout": 0.0, "max_len": MAX_LEN},
    call=of_x,
    least=4 * 12**2 + 2 * 12 * 20,
).at(_elsewhere(24), 4 * 24**2 + 2 * 24 * 26, d_model=24, num_heads=6, d_ff=26)

# ------------------------------------------------------------------ the whole

VOCAB, WIDER_VOCAB = 11, 19


def _ids(vocab: int, *shape: int) -> Tensor:
    """Ids with every word among them."""
    count = torch.Size(shape).numel()
    return torch.randperm(count, generator=torch.Generator().manual_seed(vocab)).remainder(vocab).view(shape)


TEXTS = _ids(VOCAB, 2, 6)


def _call_model(model: Any, inputs: tuple[Any, ...]) -> Any:
    """Its logits; of one that answers for the last token alone unless it has targets, with targets."""
    (ids,) = inputs
    logits = logits_of(model(ids))
    names = [name for name in parameter_names(model) if TARGETS.search(name)]
    if names and isinstance(logits, Tensor) and logits.dim() == 3 and logits.shape[1] == 1 < ids.shape[1]:
        return logits_of(model(ids, **{names[0]: ids}))
    return logits


LANGUAGE_MODEL = kind_of(
    "language_model",
    "cls(config) or cls(vocab_size, d_model, ...); forward(ids) -> logits (batch, seq, vocab_size), sees nothing later",
    MODELS,
    of_language_model,
    _of_model,
    partial(_of_model, usual=True),
    lambda parameters: (
        *of_nearness(),
        *of_sight(True, masked=False),
        *of_language(),
        *of_encoder_layer(),
        *of_more_norms(),
        *of_rms_norms(),
        *of_gates(),
        *of_gelus(),
        *of_turns(),
    ),
    [
        Experiment("two texts with every token", (TEXTS,)),
        Experiment("one text", (_ids(VOCAB, 1, 6),)),
        Experiment("three texts of nine tokens", (_ids(VOCAB, 3, 9),)),
        Experiment("one token", (_ids(VOCAB, 1, 1),)),
        Experiment("as many tokens as it takes, 64", (_ids(VOCAB, 1, 64),), alone=LONG, tolerance=3e-3),
        Experiment("in training, with dropout 0", (TEXTS,), how="training", alone=TRAINING),
        Experiment("dropout of one half", (_ids(VOCAB, 2, 6),), how="dropout"),
        *(
            Experiment(f"after a {length} text", (TEXTS,), alone=KEPT, options={"before": (_ids(VOCAB, 2, size),)})
            for length, size in (("shorter", 5), ("longer", 9))
        ),
    ],
    options={"vocab_size": VOCAB, **SIZES, "d_ff": 20, "num_layers": 1, "dropout": 0.0, "max_len": 64},
    call=_call_model,
    least=4 * 12**2 + 2 * 12 * 20 + VOCAB * 12,
).at(
    [
        Experiment("24 features, six heads, two layers", (_ids(WIDER_VOCAB, 3, 8),)),
        Experiment("one text of them", (_ids(WIDER_VOCAB, 1, 8),)),
    ],
    2 * (4 * 24**2 + 2 * 24 * 26) + WIDER_VOCAB * 24,
    vocab_size=WIDER_VOCAB,
    d_model=24,
    num_heads=6,
    d_ff=26,
    num_layers=2,
)
KINDS = [CAUSAL, ITSELF, GROUPED, BLOCK, LANGUAGE_MODEL]

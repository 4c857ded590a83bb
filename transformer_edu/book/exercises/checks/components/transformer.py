"""Checks a whole encoder–decoder: what it is made of, and what a changed input may change."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.book.exercises.checks.engine import (
    Component,
    Trial,
    as_tensor,
    change,
    forgotten_parameters,
    made_module,
)
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.support.cache import DecoderCache
from transformer_edu.transformer import Transformer, TransformerConfig, build_transformer


def check_transformer(build: Callable[..., nn.Module]) -> None:
    """Check build(source_vocab_size, target_vocab_size, **config_fields) -> model.

    The model has encode(source), decode(target, memory, source), project(x) and forward(source, target), and takes
    the fields d_model, num_heads, d_ff, num_layers, dropout, pad_id, max_len and tie_embeddings.
    """
    COMPONENT.check(build=build)


SMALL = {"d_model": 16, "num_heads": 2, "d_ff": 32, "num_layers": 2, "dropout": 0.0, "pad_id": 0, "max_len": 32}


def small(build: Any, sizes: tuple[int, int] = (11, 13), **changes: Any) -> Any:
    """A model with a d_model of 16 and two layers, dropout 0, with these fields changed."""
    return made_module(build, *sizes, **{**SMALL, **changes})


def _layers(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Do layers register, are they different layers, do they start from different weights?"""
    one, two = (small(build, num_layers=n) for n in (1, 2))
    matrices = [p.detach() for p in two.parameters() if p.dim() == 2]
    twins = any(a.shape == b.shape and torch.equal(a, b) for i, a in enumerate(matrices) for b in matrices[:i])
    inner = [p for p in one.parameters() if p.dim() == 2 and p.shape[0] not in (11, 13)]
    return {
        "the layers' matrices are among model.parameters()": bool(inner),
        "a second layer adds parameters": _size(two) > _size(one),
        "two layers start with the same matrix": twins,
    }


def _size(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


@torch.no_grad()
def _dropout(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    model = small(build, num_layers=1, dropout=given["dropout"])
    found = {}
    for mode in ("training", "eval"):
        model.train(mode == "training")
        first, second = (model(given["source"], given["target"]) for _ in range(2))
        found[f"logits of a second pass in {mode} mode"] = change(first, second)
    return found


@torch.no_grad()
def _factors(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """By what the difference of two tokens' embeddings is multiplied before the first layer (the position cancels)."""
    model = small(build, num_layers=1).eval()
    source, target = given.values()
    memory = model.encode(source[:1].expand(2, 1))
    return {
        "factor of the source embedding": _factor(model, 11, source, lambda: model.encode(source)),
        "factor of the target embedding": _factor(
            model, 13, target, lambda: model.decode(target, memory, source[:1].expand(2, 1))
        ),
    }


def _factor(model: nn.Module, vocab_size: int, ids: Tensor, run: Callable[[], Any]) -> float | None:
    """The largest factor met at the door of any module; None for a model without an nn.Embedding of this size."""
    lookups = [m for m in model.modules() if isinstance(m, nn.Embedding) and m.num_embeddings == vocab_size]
    if not lookups:
        return None
    plain = lookups[0].weight[ids[0, 0]] - lookups[0].weight[ids[1, 0]]
    factors = [1.0]

    def measure(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        x = inputs[0] if inputs else None
        if isinstance(x, Tensor) and x.shape == (2, 1, plain.shape[0]):
            ratio = (x[0, 0] - x[1, 0]) / plain
            if torch.allclose(ratio, ratio.median().expand_as(ratio), rtol=1e-2):  # a multiple, not a layer's output
                factors.append(round(float(ratio.median()), 2))

    hooks = [module.register_forward_pre_hook(measure) for module in model.modules()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return max(factors)


def _tied(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """How many different matrices have a row for each word, with one vocabulary for both languages."""
    found = {}
    for tie in ("none", "target", "all"):
        matrices = [p for p in small(build, (13, 13), num_layers=1, tie_embeddings=tie).parameters() if p.dim() == 2]
        found[f"vocabulary matrices with tie_embeddings={tie!r}"] = sum(13 in p.shape for p in matrices)
    return found


BUILD_TRIALS = [  # of a freshly built model: layers, dropout, the embeddings' factor, tying
    Trial("models of one and of two layers", {}, _layers),
    Trial(
        "two passes with dropout 0.5",
        {"source": torch.tensor([[3, 4]]), "target": torch.tensor([[1, 5, 6]]), "dropout": 0.5},
        _dropout,
    ),
    Trial(
        "the scale of the embeddings, d_model 16",
        {"source": torch.tensor([[3], [4]]), "target": torch.tensor([[5], [6]])},
        _factors,
    ),
    Trial("tied and untied embeddings", {}, _tied),
]


def _logits(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    logits = as_tensor(small(build, num_layers=1)(given["source"], given["target"])).double()
    sums = {"logits": logits.sum(-1), "exp(logits)": logits.exp().sum(-1)}
    return {
        "shape of the logits": tuple(logits.shape),
        **{f"rows of {name} sum to one": bool(((total - 1).abs() < 1e-4).all()) for name, total in sums.items()},
    }


@torch.no_grad()
def _future(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Change the last target token and look at the logits before it."""
    found = {}
    for heads in (2, 1):
        model = small(build, num_heads=heads)
        for mode in ("training", "eval"):
            model.train(mode == "training")
            before, after = (model(given["source"], given[name])[:, :-1] for name in ("target", "changed"))
            found[f"logits before the last token ({mode} mode, num_heads={heads})"] = change(before, after)
    return found


@torch.no_grad()
def _source_padding(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Pad the source further; then change the padding's own rows of the memory."""
    source, padded, target, pad_id = given.values()
    model = small(build, pad_id=pad_id).eval()
    memory, padded_memory = model.encode(source), model.encode(padded)
    real = source.shape[1]
    other = padded_memory.clone()
    other[:, real:] += 1.0
    return {
        "memory of the real tokens, after more padding": change(memory, padded_memory[:, :real]),
        "logits, after more padding": change(model(source, target), model(padded, target)),
        "decoder's output, when the memory's padding rows change": change(
            model.decode(target, padded_memory, padded), model.decode(target, other, padded)
        ),
    }


@torch.no_grad()
def _target_padding(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Change the vector of the padding token and look at a real token after it."""
    source, target, pad_id = given.values()
    model = small(build, pad_id=pad_id).eval()
    memory = model.encode(source)
    before = model.decode(target, memory, source)[:, -1]
    for parameter in model.parameters():
        if parameter.dim() == 2 and parameter.shape[0] == TARGET_VOCAB:
            parameter[pad_id] += 1.0
    after = model.decode(target, memory, source)[:, -1]
    return {"the last token's output, when the padding token's vector changes": change(before, after)}


@torch.no_grad()
def _memory(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    source, other, target = given.values()
    model = small(build, num_layers=1).eval()
    return {"logits, after another source": change(model(source, target), model(other, target))}


@torch.no_grad()
def _order(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Swap the first two tokens: without positions the other tokens cannot tell."""
    source, target = given.values()
    model, swap = small(build, num_layers=1).eval(), [1, 0, 2]
    memory = model.encode(source)
    swapped = model.encode(source[:, swap])
    decoded, decoded_swapped = (model.decode(ids, memory, source) for ids in (target, target[:, swap]))
    return {
        "memory of the third token, when the first two change places": change(memory[:, 2], swapped[:, 2]),
        "decoder's output for the third token, when the first two change places": change(
            decoded[:, 2], decoded_swapped[:, 2]
        ),
    }


def _forgotten(build: Any, given: dict[str, Any]) -> dict[str, Any]:
    if given.keys() != BOTH.keys():
        return {}
    model = small(build).eval()
    names = forgotten_parameters(model, lambda: model(given["source"], given["target"]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return {"parameters that matter and get no gradient": ", ".join(names[:3]) + more or "none"}


def _ids(*ids: int) -> Tensor:
    return torch.tensor([ids])


TARGET_VOCAB = 13
BOTH = {"source": _ids(3, 4), "target": _ids(1, 5, 6)}

COMPONENT = Component(
    "transformer",
    chapter=11,
    reference=build_transformer,
    trials=[
        Trial("the logits of three tokens, 13 words", BOTH, _logits),
        *BUILD_TRIALS,
        Trial("changing the last target token", {**BOTH, "changed": _ids(1, 5, 7)}, _future),
        Trial(
            "more padding after the source",
            {"source": _ids(3, 4), "padded": _ids(3, 4, 0, 0), "target": _ids(1, 5), "pad_id": 0},
            _source_padding,
        ),
        Trial(
            "more padding after the source, with pad_id 2",
            {"source": _ids(3, 4), "padded": _ids(3, 4, 2, 2), "target": _ids(1, 5), "pad_id": 2},
            _source_padding,
        ),
        Trial(
            "padding inside the target",
            {"source": _ids(3, 4), "target": _ids(1, 0, 5), "pad_id": 0},
            _target_padding,
        ),
        Trial("another source", {"source": _ids(3, 4), "other": _ids(3, 5), "target": _ids(1, 5)}, _memory),
        Trial("tokens in another order", {"source": _ids(3, 4, 5), "target": _ids(1, 5, 6)}, _order),
    ],
    gradient=_forgotten,
)
mistake = COMPONENT.mistake


class Model(Transformer):
    """The right model, cut into pieces that a mistake can replace (no cache)."""

    def place(self, x: Tensor, side: str) -> Tensor:
        """Add the positions of one side, "source" or "target"."""
        return self.positional_encoding(x)

    def source_mask(self, source: Tensor) -> Any:
        """What the encoder may look at."""
        return padding_mask(source, self.config.pad_id)

    def memory_mask(self, source: Tensor) -> Any:
        """What the decoder may look at in the memory."""
        return padding_mask(source, self.config.pad_id)

    def encode(self, source: Tensor) -> Tensor:
        return self.encoder(self.place(self.source_embedding(source), "source"), self.source_mask(source))

    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: DecoderCache | None = None) -> Tensor:
        x = self.place(self.target_embedding(target), "target")
        return self.decoder(x, memory, self.target_mask(target), self.memory_mask(source))


def variant(
    configure: Callable[[TransformerConfig], TransformerConfig] = lambda config: config,
    change: Callable[[Any], object] = lambda model: None,
    **methods: Callable[..., Any],
) -> Callable[..., Transformer]:
    """A function that builds the right model with another configuration, with a change to it, or with other methods."""
    cls: Any = type("Variant", (Model,), methods)

    def build(source_vocab_size: int, target_vocab_size: int, **fields: Any) -> Transformer:
        model = cls(configure(TransformerConfig(source_vocab_size, target_vocab_size, **fields)))
        change(model)
        return model

    return build


def _layers_in_a_list(model: Any) -> None:
    for stack in (model.encoder, model.decoder):
        layers = list(stack.layers)
        del stack.layers
        stack.__dict__["layers"] = layers


def _copy_first_layer(model: Any, copied: Callable[[nn.Module], nn.Module]) -> None:
    for stack in (model.encoder, model.decoder):
        stack.layers = nn.ModuleList([copied(stack.layers[0]) for _ in stack.layers])


def _unscale(model: Any, *names: str) -> None:
    for name in names:
        setattr(model, name, getattr(model, name).lookup)


def _project_to_source(model: Any) -> None:
    if model.config.tie_embeddings == "none":
        model.projection = ProjectionLayer(model.config.d_model, model.config.source_vocab_size)


def _merge_without_transpose(model: Any) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.merge_heads = lambda x: x.reshape(x.shape[0], x.shape[2], -1)  # type: ignore[method-assign]


def _padding_only(model: Transformer, target: Tensor, offset: int = 0) -> Tensor:
    return padding_mask(target, model.config.pad_id)


def _no_mask(model: Transformer, source: Tensor) -> None:
    return None


def _zeros_hidden(model: Transformer, source: Tensor) -> Tensor:
    return padding_mask(source, 0)


def _without_memory(model: Any, target: Tensor, memory: Tensor, source: Tensor, cache: Any = None) -> Tensor:
    x = model.place(model.target_embedding(target), "target")
    return model.decoder(x, x, model.target_mask(target), model.target_mask(target))


class _AlwaysDropout(nn.Dropout):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p)


mistake(
    "the layers are kept in a plain Python list",
    symptom="the optimizer never trains them and .to(device) leaves them behind; the loss stops falling early",
    why="nn.Module finds parameters in modules and in nn.ModuleList, not in lists.",
    hint="Which container tells nn.Module what is inside?",
)(variant(change=_layers_in_a_list))
mistake(
    "all layers are one and the same layer",
    symptom="the parameter count does not grow with num_layers",
    why="[layer] * n holds n references to one object, so all layers share their weights.",
    hint="How many times is your layer's constructor called?",
)(variant(change=lambda model: _copy_first_layer(model, lambda layer: layer)))
mistake(
    "the layers start with identical weights",
    symptom="slower learning at first; the count is right and no error shows",
    why="the layers are deep copies of one layer and were not initialized again.",
    hint="What does copy.deepcopy do with the random weights that the first layer has already drawn?",
)(variant(change=lambda model: _copy_first_layer(model, copy.deepcopy)))
mistake(
    "dropout stays on in eval mode",
    symptom="two translations of one sentence differ",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="How does a module know whether it is training, and who tells your dropout?",
)(variant(change=lambda model: setattr(model.positional_encoding, "dropout", _AlwaysDropout(model.config.dropout))))
mistake(
    "the argument `dropout` changes nothing",
    symptom="more overfitting than expected, the same with dropout 0.1 and 0.5",
    why="the number is not handed on to the parts that drop out.",
    hint="Follow `dropout` from build into an attention, a feed-forward part and a residual connection.",
)(variant(configure=lambda config: replace(config, dropout=0.0)))
mistake(
    "the embeddings are not multiplied by √d_model",
    symptom="with small initial embeddings (Xavier, or tied) the positions drown the words at first",
    why="section 3.4 of the paper multiplies them; the factor is missing on both sides.",
    hint="With d_model = 16, how much longer should a word's vector be than its row of the table?",
)(variant(change=lambda model: _unscale(model, "source_embedding", "target_embedding")))
mistake(
    "only one of the two embeddings is multiplied by √d_model",
    symptom="source and target words have very different scales; tying them makes it worse",
    why="the factor stands on one side only.",
    hint="Do both sides use the same embedding class?",
)(variant(change=lambda model: _unscale(model, "target_embedding")))
mistake(
    "tie_embeddings has no effect (or the weights are copied once, not shared)",
    symptom="the parameter count is too high by whole vocabulary matrices; tied matrices drift apart in training",
    why="tying means one Parameter object in two places; copying its numbers makes two that start out equal.",
    hint="After tying, `a.weight is b.weight` should be True. Is it?",
)(variant(configure=lambda config: replace(config, tie_embeddings="none")))
mistake(
    "tie_embeddings='all' ties two of the three matrices only",
    symptom="the parameter count is too high by one vocabulary matrix",
    why="the paper shares one matrix between source embedding, target embedding and projection.",
    hint="Which of the three still has a matrix of its own?",
)(
    variant(
        configure=lambda config: replace(config, tie_embeddings="target") if config.tie_embeddings == "all" else config
    )
)
mistake(
    "softmax is already applied to what the model returns",
    symptom="cross_entropy applies softmax a second time: the loss stays near log(vocabulary size) and learns slowly",
    why="the projection should return logits; the loss takes log-softmax itself.",
    hint="What does torch's cross_entropy say about its input: probabilities or logits?",
)(variant(project=lambda self, x: torch.softmax(Transformer.project(self, x), dim=-1)))
mistake(
    "log-softmax is already applied to what the model returns",
    symptom="none in the loss (log-softmax twice changes nothing), but the numbers are no logits",
    why="the projection should return logits; temperature, label smoothing and tying are defined on these.",
    hint="Which function takes log-probabilities, and which takes logits: nll_loss or cross_entropy?",
)(variant(project=lambda self, x: torch.log_softmax(Transformer.project(self, x), dim=-1)))
mistake(
    "the projection has as many scores as the *source* vocabulary has words",
    symptom="a wrong shape of logits; with one shared vocabulary it goes unnoticed",
    why="the model predicts target words.",
    hint="Which of the two sizes does the last layer need?",
)(variant(change=_project_to_source))
mistake(
    "the decoder sees the future: its causal mask is missing, or overwritten by the padding mask",
    symptom="a training loss near zero after a few hundred steps, and nonsense when it has to write on its own",
    why="self-attention in the decoder gets the padding mask alone.",
    hint="Print the mask that reaches the decoder's self-attention. Is its upper right empty?",
)(variant(target_mask=_padding_only))
mistake(
    "the decoder sees the future in eval mode: the causal mask depends on model.training",
    symptom="a validation loss far below the training loss",
    why="the mask is built only `if self.training`; but evaluation, too, shows the model whole targets.",
    hint="Nothing but dropout should depend on the mode. Where does your code ask for it?",
)(variant(target_mask=lambda self, *given: (Transformer.target_mask if self.training else _padding_only)(self, *given)))
mistake(
    "the heads are merged without the transpose, so positions mix",
    symptom="right with one head; with several, early outputs depend on later tokens, although the masks are right",
    why="(batch, heads, seq, d_head) is viewed as (batch, seq, d_model): the numbers stay in the order of heads.",
    hint="Which dimension must stand beside d_head before the two can become d_model?",
)(variant(change=_merge_without_transpose))
mistake(
    "the decoder's self-attention does not hide padding: the causal mask has overwritten the padding mask",
    symptom="results that change with the padding whenever it stands before or between real tokens",
    why="two conditions must hold at once: not in the future, and not padding.",
    hint="How do you join two boolean masks so that both must agree?",
)(variant(target_mask=lambda self, target, offset=0: causal_mask(target.shape[1])))
mistake(
    "the encoder attends to padding",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the encoder's self-attention gets no padding mask; cross-attention does.",
    hint="Three attentions need to know about padding. Which of them gets the source's mask?",
)(variant(source_mask=_no_mask))
mistake(
    "cross-attention looks at the source's padding",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the decoder's cross-attention gets no mask; its keys are the source's tokens, so it needs the source's mask.",
    hint="Three attentions need to know about padding. Which of them gets the source's mask?",
)(variant(memory_mask=_no_mask))
mistake(
    "the source's padding is hidden nowhere, neither in the encoder nor in cross-attention",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the source's padding mask is never made, or never handed on.",
    hint="Which two attentions have the source's tokens as keys?",
)(variant(source_mask=_no_mask, memory_mask=_no_mask))
mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along",
    why="the masks compare with 0, not with the pad_id that the model was built with.",
    hint="Where is pad_id kept, and who reads it?",
)(variant(source_mask=_zeros_hidden, memory_mask=_zeros_hidden))
mistake(
    "the decoder does not use the memory",
    symptom="fluent sentences that have nothing to do with the source",
    why="cross-attention takes its keys and values from the target (or from nowhere), not from the encoder's output.",
    hint="In cross-attention, what is the query, and what are key and value?",
)(variant(decode=_without_memory))
mistake(
    "the source's tokens carry no position",
    symptom="a sentence and its words in any other order get the same translation",
    why="encode embeds the ids and goes straight into the layers.",
    hint="What has to be added to the embeddings before the first layer?",
)(variant(place=lambda self, x, side: x if side == "source" else self.positional_encoding(x)))
mistake(
    "the target's tokens carry no position",
    symptom="the decoder repeats itself and loses its place in the sentence",
    why="decode embeds the ids and goes straight into the layers.",
    hint="What has to be added to the embeddings before the first layer, on this side too?",
)(variant(place=lambda self, x, side: x if side == "target" else self.positional_encoding(x)))
mistake(
    "no token carries a position, in the source or in the target (or all carry the same one)",
    symptom="word order is invisible: 'dog bites man' and 'man bites dog' are one sentence",
    why="the positional encoding is left out, or indexed by something that is the same for all tokens of a sentence.",
    hint="What does your positional encoding add to the first token, and what to the second?",
)(variant(place=lambda self, x, side: F.dropout(x, self.config.dropout, self.training)))

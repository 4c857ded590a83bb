"""A decoder block put together of the paper's parts and of today's, trained on stories (chapter 19).

`Block()` is the paper's; TODAY is what Llama 3 and Qwen 3 are built of. One field is one change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.masks import causal_mask
from transformer_edu.models import GPT, GPTConfig
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import (
    AlibiAttention,
    Experts,
    GatedFeedForward,
    InnerNorms,
    LatentAttention,
    LearnedPositionalEncoding,
    NormedAttention,
    RMSNorm,
    RotaryPositions,
    SinkAttention,
    WindowedAttention,
    balanced,
    balancing_loss,
    capped_attention,
)
from transformer_edu.positional import PositionalEncoding
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.cache import DecoderCache
from transformer_edu.support.device import device_of
from transformer_edu.support.initialization import initialize
from transformer_edu.support.seeds import seeded
from transformer_edu.support.shapes import Float, Ids, Int, Tensor, Vectors
from transformer_edu.support.tied import Tied
from transformer_edu.support.validation import check_choice, check_positive_integer
from transformer_edu.training.decay import decay_groups

CHOICES: dict[str, tuple[Any, ...]] = {  # the paper's first
    "norm": ("layer", "rms"),
    "placed": ("behind the sum", "before the part", "around the part", "behind the part"),
    "positions": ("sinusoid", "rotary", "learned", "ALiBi", "none"),
    "feed_forward": ("ReLU", "SwiGLU", "GELU", "GeGLU", "experts"),
    "biases": (True, False),
    "keys": ("each its own", "two share", "all share", "latent"),
    "query_key_norm": (False, True),
    "scores": ("free", "capped", "sinks"),
    "sees": ("all", "windows"),
}


@dataclass(frozen=True)
class Block:
    """What a layer is made of; the defaults are the paper's, and CHOICES names the others."""

    norm: str = "layer"
    placed: str = "behind the sum"
    positions: str = "sinusoid"
    feed_forward: str = "ReLU"
    biases: bool = True
    keys: str = "each its own"
    query_key_norm: bool = False
    scores: str = "free"
    sees: str = "all"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            check_choice(name, getattr(self, name), known)


PAPER = Block()
TODAY = Block("rms", "before the part", "rotary", "SwiGLU", False, "two share", True)


@dataclass(frozen=True)
class Size:
    """How large a model is; `context` is the number of tokens that it reads in training."""

    d_model: int = 128
    num_heads: int = 4
    num_layers: int = 4
    context: int = 128
    vocab_size: int = 2048
    max_len: int = 512
    window: int = 32
    experts: int = 8
    top_k: int = 2
    cap: float = 30.0

    @property
    def d_head(self) -> int:
        """Length of a head's vectors."""
        return self.d_model // self.num_heads


class BlockModel(GPT):
    """Ids in, a score for every next token out, through layers of one `Block`."""

    embedding: Any
    positional_encoding: Any

    def __init__(self, block: Block, size: Size, d_ff: int) -> None:
        Tied.__init__(self)
        self.block, self.size, self.d_ff = block, size, d_ff
        self.config = GPTConfig(size.vocab_size, size.d_model, size.num_heads, d_ff, size.num_layers, 0.0, size.max_len)
        self.embedding = InputEmbedding(size.vocab_size, size.d_model)
        added = {"sinusoid": PositionalEncoding, "learned": LearnedPositionalEncoding}.get(block.positions)
        self.positional_encoding = added and added(size.d_model, size.max_len)
        last = None if block.placed == "behind the sum" else _norm(block, size.d_model)
        self.decoder = Encoder([_layer(block, size, d_ff, index) for index in range(size.num_layers)], last)
        self.projection = ProjectionLayer(size.d_model, size.vocab_size)
        self.tie()

    def tie(self) -> None:
        """Reading and writing share one table."""
        self.projection.linear.weight = self.embedding.lookup.weight

    def vectors(self, ids: Ids, cache: DecoderCache | None = None) -> Vectors:
        """All but the projection: (batch, seq, d_model)."""
        offset = 0 if cache is None else cache.length
        so_far = ids if cache is None else cache.append(ids)
        x = self.embedding(ids)
        if self.positional_encoding is not None:
            x = self.positional_encoding(x, offset)
        return self.decoder(x, causal_mask(so_far.shape[1], ids.device)[offset:], cache)

    def experts(self) -> list[Experts]:
        """The layers' mixtures of experts, if they have any."""
        return [module for module in self.modules() if isinstance(module, Experts)]


def _norm(block: Block, d_model: int) -> nn.Module:
    return LayerNorm(d_model) if block.norm == "layer" else RMSNorm(d_model)


def _residual(block: Block, d_model: int) -> nn.Module:
    if block.placed == "behind the sum":
        return ResidualConnection(_norm(block, d_model))
    before = _norm(block, d_model) if block.placed != "behind the part" else None
    after = _norm(block, d_model) if block.placed != "before the part" else None
    return InnerNorms(before, after)


def _kv_heads(block: Block, size: Size) -> int:
    return {"each its own": size.num_heads, "two share": size.num_heads // 2, "all share": 1}[block.keys]


def _has_window(block: Block, index: int) -> bool:
    return block.sees == "windows" and (index + 1) % 4 > 0  # every fourth layer sees all


def _attention(block: Block, size: Size, index: int) -> nn.Module:
    rotate = RotaryPositions(size.d_head, size.max_len) if block.positions == "rotary" else None
    if block.keys == "latent":
        turned = size.d_head // 2
        turn = RotaryPositions(turned, size.max_len) if rotate else lambda x, offset=0: x
        return LatentAttention(
            size.d_model, size.num_heads, size.d_head - turned, turned, size.d_head, size.d_head, turn
        )
    function: Any = {
        "free": scaled_dot_product_attention,
        "capped": capped_attention(size.cap),
        "sinks": SinkAttention(size.num_heads),
    }[block.scores]
    if block.positions == "ALiBi":
        function = AlibiAttention(size.num_heads, function)
    if _has_window(block, index):
        function = WindowedAttention(size.window, function)
    kv_heads = _kv_heads(block, size)
    more: dict[str, Any] = {"bias": block.biases, "num_kv_heads": kv_heads, "rotate": rotate, "function": function}
    if not block.query_key_norm:
        return MultiHeadAttention(size.d_model, size.num_heads, **more)
    norms = {"query_norm": RMSNorm(size.d_head), "key_norm": RMSNorm(size.d_head)}
    return NormedAttention(size.d_model, size.num_heads, **norms, **more)


def _feed_forward(block: Block, size: Size, d_ff: int) -> nn.Module:
    if block.feed_forward == "experts":
        parts = [GatedFeedForward(size.d_model, d_ff) for _ in range(size.experts)]
        return Experts(size.d_model, parts, size.top_k)
    if block.feed_forward in ("SwiGLU", "GeGLU"):
        activation = {"SwiGLU": "silu", "GeGLU": "gelu"}[block.feed_forward]
        return GatedFeedForward(size.d_model, d_ff, activation=activation)
    part = PositionwiseFeedForward(size.d_model, d_ff, activation=block.feed_forward.lower())
    if not block.biases:
        for linear in (part.expand, part.contract):
            linear.register_parameter("bias", None)
    return part


def _layer(block: Block, size: Size, d_ff: int, index: int) -> EncoderLayer:
    return EncoderLayer(
        _attention(block, size, index), _feed_forward(block, size, d_ff), _residual(block, size.d_model)
    )


def routed(mixture: Experts) -> tuple[Tensor, Tensor]:
    """Scores and choice of the last pass."""
    if mixture.routed is None:
        raise ValueError("mixture must have routed tokens, got one that no token went through")
    return mixture.routed


def count(module: nn.Module) -> int:
    """Numbers that training changes."""
    return sum(parameter.numel() for parameter in module.parameters())


def active(model: BlockModel) -> int:
    """Numbers that one token passes: of a mixture, the router and `top_k` experts."""
    idle = sum(count(part) for mixture in model.experts() for part in list(mixture.experts)[: -mixture.top_k])
    return count(model) - idle


@cache
def fitted_d_ff(block: Block, size: Size) -> int:
    """The inner length of the feed-forward part with which a token passes as many numbers as in the paper's block.

    What a change saves elsewhere goes there: a block that is smaller should not lose for that.
    """
    aim = active(BlockModel(PAPER, size, 4 * size.d_model))
    one, two = (active(BlockModel(block, size, d_ff)) for d_ff in (1, 2))
    return max(1, round((aim - one) / (two - one)) + 1)


def build_block_model(block: Block, size: Size | None = None, seed: int = 0) -> BlockModel:
    """An untrained model: matrices Xavier-uniform, biases zero, embeddings N(0, 1 / d_model)."""
    size = size or Size()
    with seeded(seed):
        model = BlockModel(block, size, fitted_d_ff(block, size))
        initialize(model)
        if block.positions == "learned":
            nn.init.normal_(model.positional_encoding.table, std=0.02)
    return model


@dataclass(frozen=True)
class Recipe:
    """How it is trained; the defaults are those of the recorded runs."""

    steps: int = 1500
    batch_size: int = 32
    rate: float = 0.002
    warmup: int = 100
    weight_decay: float = 0.1
    balancing: str = "loss"  # of experts: "loss", "bias" or "none"
    weight: float = 0.01  # of the balancing loss
    step: float = 0.01  # of the balancing bias


def batches(ids: Int[Tensor, " tokens"], context: int, recipe: Recipe, seed: int) -> Iterator[Tensor]:
    """Rows of `context` + 1 tokens, from places drawn by a generator of its own: the same for every block."""
    drawn = torch.Generator().manual_seed(seed)
    reach = torch.arange(context + 1)
    for _ in range(recipe.steps):
        at = torch.randint(len(ids) - context, (recipe.batch_size, 1), generator=drawn)
        yield ids[(at + reach).to(ids.device)]


def fit(
    model: BlockModel, ids: Int[Tensor, " tokens"], recipe: Recipe | None = None, seed: int = 0, watch: Any = None
) -> list[float]:
    """Train in place with AdamW, a warm-up and a straight way down to zero; the loss of each step, nats a token.

    `watch(step, model)` is called after each step, counted from 1.
    """
    recipe = recipe or Recipe()
    check_positive_integer("steps", recipe.steps)
    optimizer = torch.optim.AdamW(
        decay_groups(model, recipe.weight_decay), lr=recipe.rate, betas=(0.9, 0.95), fused=True
    )
    way = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: min((done + 1) / recipe.warmup, 1 - done / recipe.steps)
    )
    losses = []
    mixtures = model.experts()
    for number, rows in enumerate(batches(ids.to(device_of(model)), model.size.context, recipe, seed), start=1):
        logits = model(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        losses.append(loss.detach())
        if mixtures and recipe.balancing == "loss":
            loss = loss + recipe.weight * torch.stack([balancing_loss(*routed(mixture)) for mixture in mixtures]).sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        way.step()
        if recipe.balancing == "bias":
            for mixture in mixtures:
                mixture.bias.copy_(balanced(mixture.bias, routed(mixture)[1], recipe.step))
        if watch is not None:
            watch(number, model)
    return torch.stack(losses).tolist()


@torch.no_grad()
def held_out_loss(
    model: BlockModel, ids: Int[Tensor, " tokens"], context: int | None = None
) -> Float[Tensor, " place"]:
    """The mean loss at each place of rows of `context` tokens (by default, as in training) cut out of `ids`."""
    length = context or model.size.context
    count_rows = (len(ids) - 1) // length
    rows = ids[: count_rows * length].view(count_rows, length).to(device_of(model))
    targets = ids[1 : count_rows * length + 1].view(count_rows, length).to(device_of(model))
    losses = [
        F.cross_entropy(model(some).flatten(0, 1), wanted.flatten(), reduction="none").view(wanted.shape)
        for some, wanted in zip(rows.split(64), targets.split(64), strict=True)
    ]
    return torch.cat(losses).mean(dim=0).cpu()


def kept(block: Block, size: Size, tokens: int) -> int:
    """Numbers that a cache has to keep of a text of so many tokens; a layer with a window keeps the window."""
    latent = size.d_head + size.d_head // 2
    each = latent if block.keys == "latent" else 2 * _kv_heads(block, size) * size.d_head
    windows = [_has_window(block, index) for index in range(size.num_layers)]
    return each * sum(min(tokens, size.window) if near else tokens for near in windows)

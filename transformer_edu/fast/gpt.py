"""A GPT that writes its next tokens in one pass over plain tensors, without the modules' own calls."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.encoder import EncoderLayer
from transformer_edu.fast.attention import MultiHeadAttention
from transformer_edu.fast.cache import ROOM, BufferedCache, SearchCache
from transformer_edu.fast.normalization import LayerNorm
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.models import gpt
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.plain import is_observed, is_plain
from transformer_edu.support.shapes import Float, Ids, Int, Tensor


class QuickPromptWriter(PromptWriter):
    """A `PromptWriter` whose single tokens go through one product for queries, keys and values, and through no module.

    What is not as `GPT` builds it, and switched on, goes the usual way: another part, a hook, a recorder, a gradient,
    training, padding in the text. What was read lies in one tensor a layer meanwhile, and in the cache again after it.
    """

    def __init__(self, model: gpt.GPT, source: Ids | None = None) -> None:
        watched = model.training or is_observed(model)
        layers: Any = model.decoder.layers
        as_built = type(model.decoder.final_norm) is LayerNorm and all(map(_is_as_built, layers))
        self.usual = watched or not as_built or self._is_padding(model, source)
        self.layers = [] if self.usual else [_parts(layer) for layer in layers]
        if not self.usual:
            self.last_norm = _norm(model.decoder.final_norm)
            self.to_words = _product(model.projection.linear.weight, None)
        self.past: list[Tensor] = []  # of each layer, (batch, 2, heads, room, d_head): keys and values; or in the cache
        super().__init__(model, source)

    def next_logits(self, newest: Ids) -> Float[Tensor, "batch vocab"]:
        """Scores (batch, vocab) of the token after `newest`, the ids that came since the last call."""
        self.usual |= self._is_padding(self.model, newest)
        single = newest.shape[1] == 1 and 0 < self.cache.length < self.model.config.max_len
        if self.usual or not single or torch.is_grad_enabled() or not is_plain(newest):
            self._give_back()
            return super().next_logits(newest)
        return self._step(newest[:, 0], self.cache.append(newest).shape[1] - 1)

    def reorder(self, rows: Int[Tensor, " kept"]) -> None:
        """Keep these rows of the batch, in this order."""
        self._give_back()
        super().reorder(rows)

    @staticmethod
    def _is_padding(model: gpt.GPT, ids: Tensor | None) -> bool:
        pad_id = model.config.pad_id
        return ids is not None and pad_id is not None and bool((ids == pad_id).any())

    def _take_over(self) -> None:
        """Keys and values of each layer, side by side, with as much room again behind them."""
        for layer in self.cache.layers:
            both = torch.stack(layer.self_attention.kept(), dim=1)
            self.past.append(F.pad(both, (0, 0, 0, max(ROOM, both.shape[3]))))

    def _give_back(self) -> None:
        for layer, past in zip(self.cache.layers, self.past, strict=False):
            key, value = past[:, :, :, : self.cache.length].unbind(1)
            layer.self_attention = BufferedCache(key, value)
        self.past = []

    def _step(self, ids: Tensor, position: int) -> Float[Tensor, "batch vocab"]:
        if self.past and self.past[0].shape[3] == position:
            self._give_back()
        if not self.past:
            self._take_over()
        x = self.model.embedding.weight[ids] + self.model.positional_encoding.table[position]  # (batch, d_model)
        for (heads, before, project, project_output, between, expand, activation, contract), past in zip(
            self.layers, self.past, strict=True
        ):
            joined = project(before(x)).view(len(x), 3, heads, 1, -1)  # query, key and value, one row a head
            past[:, :, :, position] = joined[:, 1:, :, 0]
            keys, values = past[:, :, :, : position + 1].unbind(1)
            x = x + project_output(F.scaled_dot_product_attention(joined[:, 0], keys, values).flatten(1))
            x = x + contract(activation(expand(between(x))))
        return self.to_words(self.last_norm(x))


class GPT(gpt.GPT):
    """`transformer_edu.models.GPT` in all but speed."""

    def start_cache(self) -> SearchCache:
        """An empty cache for writing step by step."""
        return SearchCache(self.config.num_layers)

    def start(self, source: Ids | None = None) -> QuickPromptWriter:
        """Read a text; what comes back goes on from it."""
        return QuickPromptWriter(self, source)


def _is_as_built(layer: Any) -> bool:
    attention, residuals = layer.self_attention, (layer.self_attention_residual, layer.feed_forward_residual)
    return (
        type(attention) is MultiHeadAttention
        and not any((attention.rotate, attention.function))
        and all(type(part) is nn.Linear for part in _projections(attention))
        and len({part.bias is None for part in _projections(attention)}) == 1
        and attention.query_projection.weight.shape == attention.key_projection.weight.shape
        and type(layer) is EncoderLayer
        and type(layer.feed_forward) is PositionwiseFeedForward
        and all(type(way) is ResidualConnection and way.pre and type(way.norm) is LayerNorm for way in residuals)
    )


def _parts(layer: EncoderLayer) -> tuple[Any, ...]:
    """What a step calls of a layer, in order: heads, norm, products, ..., each looked up once."""
    attention: Any = layer.self_attention
    network: Any = layer.feed_forward
    weights: list[Tensor] = [part.weight for part in _projections(attention)]
    biases: list[Tensor] = [part.bias for part in _projections(attention) if part.bias is not None]
    return (
        attention.num_heads,
        _norm(layer.self_attention_residual.norm),
        _product(torch.cat(weights), torch.cat(biases) if biases else None),  # queries, keys and values
        _product(attention.output_projection.weight, attention.output_projection.bias),
        _norm(layer.feed_forward_residual.norm),
        _product(network.expand.weight, network.expand.bias),
        network.activation,
        _product(network.contract.weight, network.contract.bias),
    )


def _projections(attention: Any) -> tuple[nn.Linear, ...]:
    return attention.query_projection, attention.key_projection, attention.value_projection


def _norm(norm: Any) -> Callable[[Tensor], Tensor]:
    shape, weight, bias, eps = norm.weight.shape, norm.weight, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, weight, bias, eps)


def _product(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    columns = weight.detach().T.contiguous()  # as Wᵀ lies in memory: a product of a few rows reads it in half the time
    return (lambda x: x @ columns) if bias is None else (lambda x: torch.addmm(bias, x, columns))

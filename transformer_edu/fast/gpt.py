"""A GPT that writes its next tokens in one pass over plain tensors, without the modules' own calls."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.encoder import EncoderLayer
from transformer_edu.fast.attention import MultiHeadAttention
from transformer_edu.fast.cache import SearchCache
from transformer_edu.fast.normalization import LayerNorm
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.models import gpt
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.plain import has_hooks, is_plain
from transformer_edu.support.shapes import Float, Ids, Tensor


class QuickPromptWriter(PromptWriter):
    """A `PromptWriter` whose single tokens go through one product for queries, keys and values, and through no module.

    What is not as `GPT` builds it, and switched on, goes the usual way: another part, a hook, a recorder, a gradient,
    training, padding in the text.
    """

    def __init__(self, model: gpt.GPT, source: Ids | None = None) -> None:
        watched = model.training or any(has_hooks(part) for part in model.modules())
        layers: Any = model.decoder.layers
        as_built = type(model.decoder.final_norm) is LayerNorm and all(map(_is_as_built, layers))
        self.usual = watched or not as_built
        self.products = [] if self.usual else [_products(layer) for layer in layers]
        self.products += [] if self.usual else [[_product(model.projection.linear.weight, None)]]
        super().__init__(model, source)

    def next_logits(self, newest: Ids) -> Float[Tensor, "batch vocab"]:
        """Scores (batch, vocab) of the token after `newest`, the ids that came since the last call."""
        single = newest.shape[1] == 1 and 0 < self.cache.length < self.model.config.max_len
        if self.usual or not single or torch.is_grad_enabled() or not is_plain(newest):
            return super().next_logits(newest)
        if self._is_padding(newest) or self._is_padding(self.cache.target):
            return super().next_logits(newest)
        return self._step(newest[:, 0], self.cache.append(newest).shape[1] - 1)

    def _is_padding(self, ids: Tensor | None) -> bool:
        pad_id = self.model.config.pad_id
        return ids is not None and pad_id is not None and bool((ids == pad_id).any())

    def _step(self, ids: Tensor, position: int) -> Float[Tensor, "batch vocab"]:
        model = self.model
        x = model.embedding.weight[ids] + model.positional_encoding.table[position]  # (batch, d_model)
        *products, [to_words] = self.products
        for layer, past, of_layer in zip(model.decoder.layers, self.cache.layers, products, strict=True):
            project, project_output, expand, contract = of_layer
            h = _normalized(x, layer.self_attention_residual.norm)
            q, k, v = project(h).unflatten(-1, (3, layer.self_attention.num_heads, 1, -1)).unbind(1)  # one row a head
            k, v = past.self_attention.append(k, v)
            x = x + project_output(F.scaled_dot_product_attention(q, k, v).flatten(1))
            h = _normalized(x, layer.feed_forward_residual.norm)
            x = x + contract(layer.feed_forward.activation(expand(h)))
        return to_words(_normalized(x, model.decoder.final_norm))


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
    plain = type(attention) is MultiHeadAttention and attention.rotate is None and attention.recorder is None
    return (
        plain
        and attention.can_join_projections()
        and attention.query_projection.weight.shape == attention.key_projection.weight.shape
        and type(layer) is EncoderLayer
        and type(layer.feed_forward) is PositionwiseFeedForward
        and all(type(one) is ResidualConnection and one.pre and type(one.norm) is LayerNorm for one in residuals)
    )


def _normalized(x: Tensor, norm: nn.Module) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)  # type: ignore[arg-type]


def _products(layer: EncoderLayer) -> list[Callable[[Tensor], Tensor]]:
    """Queries, keys and values in one; the output projection; the two of the feed-forward network."""
    attention: Any = layer.self_attention
    network: Any = layer.feed_forward
    parts = (attention.output_projection, network.expand, network.contract)
    return [_product(*attention.joined_weights()), *(_product(part.weight, part.bias) for part in parts)]


def _product(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    columns = weight.detach().T.contiguous()  # as Wᵀ lies in memory: a product of a few rows reads it in half the time
    return (lambda x: x @ columns) if bias is None else (lambda x: torch.addmm(bias, x, columns))

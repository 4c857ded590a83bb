"""Weights copied from `torch.nn`'s Transformer modules into this book's, so that outputs can be compared."""

from functools import singledispatch
from typing import Any

import torch
from torch import nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import RMSNorm
from transformer_edu.transformer import Transformer


def copy_weights(theirs: nn.Module, ours: nn.Module) -> None:
    """Copy the weights of a `torch.nn` module into its counterpart here.

    Knows LayerNorm, RMSNorm, Linear, Embedding, MultiheadAttention, the encoder and decoder layers and stacks, and
    Transformer (its encoder and decoder; `torch.nn.Transformer` has no embeddings and no projection).

    Raises:
        TypeError: for a module it does not know, or one that is not its counterpart.
        ValueError: where shapes, numbers of heads or places of the norm differ, or only one side has a bias or a
            final norm.
    """
    with torch.no_grad():
        _copy(theirs, ours)


@singledispatch
def _copy(theirs: nn.Module, ours: nn.Module) -> None:
    raise TypeError(f"theirs must be a torch.nn module that this book rebuilds, got {type(theirs).__name__}")


def _check_counterpart(ours: Any, *kinds: type[nn.Module]) -> None:
    if not isinstance(ours, kinds):
        raise TypeError(f"ours must be a {' or '.join(kind.__name__ for kind in kinds)}, got {type(ours).__name__}")


def _check_same(name: str, theirs: Any, ours: Any) -> None:
    if theirs != ours:
        raise ValueError(f"{name} must be the same on both sides, got {theirs} for theirs and {ours} for ours")


def _copy_tensor(name: str, theirs: torch.Tensor | None, ours: torch.Tensor | None) -> None:
    if (theirs is None) != (ours is None):
        side = "theirs" if ours is None else "ours"
        raise ValueError(f"{name} must exist on both sides or on neither, got one only for {side}")
    if theirs is None or ours is None:
        return
    _check_same(f"shape of {name}", tuple(theirs.shape), tuple(ours.shape))
    ours.copy_(theirs)


@_copy.register(nn.LayerNorm)
@_copy.register(nn.RMSNorm)
@_copy.register(nn.Linear)
@_copy.register(nn.Embedding)
def _copy_plain(theirs: Any, ours: Any) -> None:
    if isinstance(ours, ProjectionLayer):
        ours = ours.linear
    if isinstance(ours, InputEmbedding):
        ours = ours.lookup
    kinds = {nn.LayerNorm: LayerNorm, nn.RMSNorm: RMSNorm, nn.Linear: nn.Linear, nn.Embedding: nn.Embedding}
    _check_counterpart(ours, *(ours_kind for kind, ours_kind in kinds.items() if isinstance(theirs, kind)))
    _copy_tensor("weight", theirs.weight, ours.weight)
    _copy_tensor("bias", getattr(theirs, "bias", None), getattr(ours, "bias", None))


@_copy.register
def _copy_attention(theirs: nn.MultiheadAttention, ours: Any) -> None:
    """torch.nn keeps W_Q, W_K and W_V in one matrix, one below the other."""
    _check_counterpart(ours, MultiHeadAttention)
    _check_same("num_heads", theirs.num_heads, ours.num_heads)
    if theirs.in_proj_weight is None:
        raise ValueError("theirs must have keys and values of length embed_dim, got a kdim or vdim of its own")
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    weights = theirs.in_proj_weight.chunk(3)
    biases = (None,) * 3 if theirs.in_proj_bias is None else theirs.in_proj_bias.chunk(3)
    for projection, weight, bias in zip(projections, weights, biases, strict=True):
        _copy_tensor("projection weight", weight, projection.weight)
        _copy_tensor("projection bias", bias, projection.bias)
    _copy(theirs.out_proj, ours.output_projection)


def _copy_feed_forward(theirs: Any, ours: Any) -> None:
    _copy(theirs.linear1, ours.expand)
    _copy(theirs.linear2, ours.contract)


@_copy.register
def _copy_encoder_layer(theirs: nn.TransformerEncoderLayer, ours: Any) -> None:
    _check_counterpart(ours, EncoderLayer)
    _check_same("norm_first (pre-norm)", theirs.norm_first, ours.self_attention_residual.pre)
    _copy(theirs.self_attn, ours.self_attention)
    _copy_feed_forward(theirs, ours.feed_forward)
    _copy(theirs.norm1, ours.self_attention_residual.norm)
    _copy(theirs.norm2, ours.feed_forward_residual.norm)


@_copy.register
def _copy_decoder_layer(theirs: nn.TransformerDecoderLayer, ours: Any) -> None:
    _check_counterpart(ours, DecoderLayer)
    _check_same("norm_first (pre-norm)", theirs.norm_first, ours.self_attention_residual.pre)
    _copy(theirs.self_attn, ours.self_attention)
    _copy(theirs.multihead_attn, ours.cross_attention)
    _copy_feed_forward(theirs, ours.feed_forward)
    _copy(theirs.norm1, ours.self_attention_residual.norm)
    _copy(theirs.norm2, ours.cross_residual.norm)
    _copy(theirs.norm3, ours.feed_forward_residual.norm)


@_copy.register(nn.TransformerEncoder)
@_copy.register(nn.TransformerDecoder)
def _copy_stack(theirs: Any, ours: Any) -> None:
    _check_counterpart(ours, Encoder if isinstance(theirs, nn.TransformerEncoder) else Decoder)
    _check_same("number of layers", len(theirs.layers), len(ours.layers))
    if (theirs.norm is None) == (not isinstance(ours.final_norm, nn.Identity)):
        raise ValueError("final_norm must exist on both sides or on neither (torch.nn.Transformer always has one)")
    for their_layer, our_layer in zip(theirs.layers, ours.layers, strict=True):
        _copy(their_layer, our_layer)
    if theirs.norm is not None:
        _copy(theirs.norm, ours.final_norm)


@_copy.register
def _copy_transformer(theirs: nn.Transformer, ours: Any) -> None:
    _check_counterpart(ours, Transformer)
    _copy(theirs.encoder, ours.encoder)
    _copy(theirs.decoder, ours.decoder)

"""Checks of what the paper's parts are given: one call for each function, errors as in `support.validation`."""

from typing import Any

from torch import nn

from transformer_edu.support.validation import (
    INTEGER_DTYPES,
    check_boolean,
    check_broadcasts,
    check_choice,
    check_divisible,
    check_even,
    check_features,
    check_floating_point,
    check_ids,
    check_mask,
    check_number,
    check_positive_integer,
    check_probability,
    check_tensor,
    check_vectors,
)


def check_sizes(**sizes: Any) -> None:
    """Raise unless each size is a whole number of at least 1."""
    for name, value in sizes.items():
        check_positive_integer(name, value)


def check_padded_ids(ids: Any, pad_id: Any, name: str = "ids") -> None:
    """Raise unless `ids` are token ids (batch, seq) and `pad_id` could be one of them."""
    check_tensor(name, ids)
    if ids.dtype not in INTEGER_DTYPES:
        raise TypeError(f"{name} must hold token ids of dtype int64 or int32, got {ids.dtype}")
    if ids.dim() != 2:
        raise ValueError(f"{name} must have shape (batch, seq), got {tuple(ids.shape)}")
    check_positive_integer("pad_id", pad_id, minimum=0)


def check_table(max_len: Any, d_model: Any) -> None:
    """Raise unless a sinusoidal table can have this many rows and columns."""
    check_sizes(max_len=max_len, d_model=d_model)
    check_even("d_model", d_model)


def check_positioned(x: Any, offset: Any, table: Any) -> None:
    """Raise unless the table has a row for each position of x (batch, seq, d_model), counted from `offset`."""
    check_vectors("x", x, table.shape[1])
    check_rows(x.shape[1], offset, table)


def check_rotated(x: Any, offset: Any, table: Any) -> None:
    """Raise unless the table has a row for each position of x (..., seq, d_head), counted from `offset`."""
    check_features("x", x, table.shape[1])
    check_rows(x.shape[-2], offset, table)


def check_rows(seq: int, offset: Any, table: Any) -> None:
    """Raise unless a table has the rows offset .. offset + seq - 1."""
    check_positive_integer("offset", offset, minimum=0)
    max_len = table.shape[0]
    if offset + seq > max_len:
        raise ValueError(
            f"x reaches position {offset + seq - 1} (offset={offset}, seq={seq}), "
            f"but the table has max_len={max_len} positions"
        )


def check_embedding(vocab_size: Any, d_model: Any, padding_idx: Any) -> None:
    """Raise unless an embedding can be built of these."""
    check_sizes(vocab_size=vocab_size, d_model=d_model)
    if padding_idx is None:
        return
    check_positive_integer("padding_idx", padding_idx, minimum=0)
    if padding_idx >= vocab_size:
        raise ValueError(f"padding_idx must be below vocab_size={vocab_size}, got {padding_idx}")


def check_projection(d_model: Any, vocab_size: Any, bias: Any) -> None:
    """Raise unless a projection can be built of these."""
    check_sizes(d_model=d_model, vocab_size=vocab_size)
    check_boolean("bias", bias)


def check_norm(d_model: Any, eps: Any) -> None:
    """Raise unless a norm can be built of these."""
    check_positive_integer("d_model", d_model)
    check_number("eps", eps)


def check_attention(query: Any, key: Any, value: Any, mask: Any, dropout_p: Any, score_bias: Any = None) -> None:
    """Raise unless `scaled_dot_product_attention` can be computed of these."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        check_floating_point(name, tensor)
        if tensor.dim() < 2 or tensor.numel() == 0:
            raise ValueError(f"{name} must be (..., len, d_head) and not empty, got shape {tuple(tensor.shape)}")
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(
            "query, key and value must have the same leading dimensions (batch, heads), got shapes "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must share d_head, got {query.shape[-1]} and {key.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    if mask is not None:
        check_mask("mask", mask, (*query.shape[:-1], key.shape[-2]))
    if score_bias is not None:
        check_tensor("score_bias", score_bias)
        check_floating_point("score_bias", score_bias)
        check_broadcasts("score_bias", score_bias, (*query.shape[:-1], key.shape[-2]))
    check_probability("dropout_p", dropout_p)


def check_heads(d_model: Any, num_heads: Any, dropout: Any, bias: Any, num_kv_heads: Any, d_head: Any = None) -> None:
    """Raise unless a multi-head attention can be built of these."""
    check_sizes(d_model=d_model, num_heads=num_heads, num_kv_heads=num_kv_heads)
    if d_head is None:
        check_divisible("d_model", d_model, "num_heads", num_heads)
    else:
        check_sizes(d_head=d_head)
    check_divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
    check_probability("dropout", dropout)
    check_boolean("bias", bias)


def check_all_vectors(d_model: int, **vectors: Any) -> None:
    """Raise unless each is a floating-point tensor (batch, seq, d_model) with no empty dimension."""
    for name, value in vectors.items():
        check_vectors(name, value, d_model)


def check_feed_forward(d_model: Any, d_ff: Any, dropout: Any, activation: Any, activations: Any) -> None:
    """Raise unless a feed-forward part can be built of these."""
    check_sizes(d_model=d_model, d_ff=d_ff)
    check_probability("dropout", dropout)
    check_choice("activation", activation, tuple(activations))


def check_layers(layers: Any) -> None:
    """Raise unless a stack has layers."""
    if not layers:
        raise ValueError(f"layers must hold at least one layer, got {layers!r}")


def check_parts(**parts: Any) -> None:
    """Raise unless the parts of a layer are modules that agree about d_model; parts that have none are trusted."""
    for name, part in parts.items():
        check_is(name, part, nn.Module)
    sizes = {name: d for name, part in parts.items() if isinstance(d := getattr(part, "d_model", None), int)}
    for name, size in sizes.items():
        first = next(iter(sizes))
        if size != sizes[first]:
            raise ValueError(f"{first} and {name} must have the same d_model, got {sizes[first]} and {size}")


def check_config(config: Any) -> None:
    """Raise unless every field of a `TransformerConfig` is possible, alone and together with the others."""
    for name in ("source_vocab_size", "target_vocab_size", "d_model", "num_heads", "d_ff", "num_layers", "max_len"):
        check_positive_integer(name, getattr(config, name))
    check_divisible("d_model", config.d_model, "num_heads", config.num_heads)
    check_even("d_model", config.d_model)
    check_probability("dropout", config.dropout)
    check_placement(config.norm)
    if config.final_norm is not None:
        check_boolean("final_norm", config.final_norm)
    check_positive_integer("pad_id", config.pad_id, minimum=0)
    if config.pad_id >= min(config.source_vocab_size, config.target_vocab_size):
        sizes = f"source_vocab_size={config.source_vocab_size} and target_vocab_size={config.target_vocab_size}"
        raise ValueError(f"pad_id must be an id of both vocabularies, below {sizes}, got {config.pad_id}")
    check_choice("tie_embeddings", config.tie_embeddings, ("none", "target", "all"))
    if config.tie_embeddings == "all" and config.source_vocab_size != config.target_vocab_size:
        raise ValueError(
            "tie_embeddings='all' needs one vocabulary for both languages, got source_vocab_size="
            f"{config.source_vocab_size} and target_vocab_size={config.target_vocab_size}"
        )


def check_stack(config: Any) -> None:
    """Raise unless the fields of a later model's configuration are possible, those that it has."""
    for name in ("vocab_size", "num_classes", "image_size", "patch_size", "channels", "num_segments", "max_len"):
        if hasattr(config, name):
            check_positive_integer(name, getattr(config, name))
    check_sizes(d_model=config.d_model, num_heads=config.num_heads, d_ff=config.d_ff, num_layers=config.num_layers)
    if not hasattr(config, "d_head"):
        check_divisible("d_model", config.d_model, "num_heads", config.num_heads)
    check_probability("dropout", config.dropout)
    check_number("eps", getattr(config, "eps", 1e-5))
    pad_id = getattr(config, "pad_id", None)
    if pad_id is not None:
        check_positive_integer("pad_id", pad_id, minimum=0)
        if pad_id >= config.vocab_size:
            raise ValueError(f"pad_id must be below vocab_size={config.vocab_size}, got {pad_id}")


def check_is(name: str, value: Any, *kinds: type) -> None:
    """Raise unless `value` is of one of these kinds."""
    if not isinstance(value, kinds):
        expected = " or a ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} must be a {expected}, got {type(value).__name__}: {value!r}"[:300])


def check_sentence(name: str, value: Any) -> None:
    """Raise unless `value` is one sentence."""
    if not isinstance(value, str):
        several = "; for several, call it for each, or a translator's translate_all" if isinstance(value, list) else ""
        raise TypeError(f"{name} must be one sentence, a str, got {type(value).__name__}: {value!r}"[:200] + several)


ELSEWHERE = {
    **dict.fromkeys(("nhead", "n_head", "n_heads", "heads", "num_attention_heads", "h"), "num_heads"),
    **dict.fromkeys(("hidden_size", "n_embd", "dim", "embed_dim", "model_dim", "d"), "d_model"),
    **dict.fromkeys(("dim_feedforward", "intermediate_size", "hidden_dim", "ffn_dim"), "d_ff"),
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers", "n_layer", "n_layers", "N"), "num_layers"),
    **dict.fromkeys(("norm_first", "pre_norm"), "norm"),
    **dict.fromkeys(("block_size", "max_position_embeddings", "max_seq_len"), "max_len"),
    **dict.fromkeys(("padding_idx", "pad_token_id", "pad_idx"), "pad_id"),
    **dict.fromkeys(("src_vocab_size", "src_vocab"), "source_vocab_size"),
    **dict.fromkeys(("tgt_vocab_size", "trg_vocab_size", "tgt_vocab"), "target_vocab_size"),
}
"""What other programs call the fields of `TransformerConfig`."""


def check_fields(given: Any, known: Any) -> None:
    """Raise unless all names in the dictionary `given` are in `known`; a name of other programs is translated."""
    for name, value in given.items():
        if name not in known:
            fields = f"it is {ELSEWHERE[name]} here" if name in ELSEWHERE else f"its fields are {', '.join(known)}"
            raise TypeError(f"{name}={value!r} must be a field of TransformerConfig, but is none: {fields}")


def check_decoding(target: Any, memory: Any, source: Any, config: Any) -> None:
    """Raise unless target ids, memory and source ids belong to one batch of a model of this configuration."""
    check_ids("target", target, config.target_vocab_size)
    check_vectors("memory", memory, config.d_model)
    if target.shape[0] != memory.shape[0] or source.shape != memory.shape[:2]:
        raise ValueError(
            "target, memory and source must belong to the same batch, got shapes "
            f"{tuple(target.shape)}, {tuple(memory.shape)} and {tuple(source.shape)}"
        )


def check_new_rows(name: str, old: Any, new: Any) -> None:
    """Raise unless new keys or values (batch, heads, new, d_head) continue those of a cache, if it has any."""
    if old is None:
        return
    (batch, heads, _, d_head), dtype = old.shape, old.dtype
    if new.shape != (batch, heads, new.shape[-2], d_head) or new.dtype is not dtype:
        expected = f"shape ({batch}, {heads}, new, {d_head}) and dtype {dtype}"
        raise ValueError(f"{name} must continue the cache's with {expected}, got {tuple(new.shape)} and {new.dtype}")


def check_new_targets(old: Any, new: Any) -> None:
    """Raise unless new target ids (batch, new) continue those of a cache, if it has any."""
    if old is not None and old.shape[0] != new.shape[0]:
        raise ValueError(f"target must have a batch of {old.shape[0]} like the cache, got {new.shape[0]}")


def check_placement(norm: Any) -> None:
    """Raise unless `norm` says where a norm stands."""
    check_choice("norm", norm, ("post", "pre"))


def check_residual(norm: Any, dropout: Any, pre: Any) -> None:
    """Raise unless a residual connection can be built of these."""
    check_is("norm", norm, nn.Module)
    check_probability("dropout", dropout)
    check_boolean("pre", pre)

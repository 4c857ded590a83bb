"""The weights of others in the models of this package: Hugging Face's format, from a folder or from its hub.

A folder holds config.json and model.safetensors. What a name there is called here stands in a table for each family;
a name that nobody knows is an error, so that no weight is left out in silence.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from transformer_edu.models.bert import BERT, BERTConfig
from transformer_edu.models.deepseek import DeepSeek, DeepSeekConfig
from transformer_edu.models.gpt import GPT, GPTConfig
from transformer_edu.models.llama import Llama, LlamaConfig
from transformer_edu.models.marian import Marian, MarianConfig
from transformer_edu.models.t5 import T5, T5Config
from transformer_edu.models.vit import ViT, ViTConfig

CONFIG, WHOLE, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"  # the last one names parts
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
ACTIVATIONS |= {"silu": "silu", "swish": "silu"}
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """How one kind of model is called there and here.

    Args:
        model: the class here, built from what `config` makes of config.json.
        names: theirs -> ours, without ".weight" and ".bias"; # is a number, and the same one on both sides. Several
            names here share one matrix there, cut in equal parts.
        unused: names that say nothing of what the model computes, as patterns.
        change: what is done to the weights once they have our names.
    """

    model: Callable[[Any], nn.Module]
    config: Callable[[Config], Any]
    names: dict[str, str | tuple[str, ...]]
    unused: tuple[str, ...] = ()
    change: Callable[[dict[str, Tensor], Any], None] = lambda weights, config: None


def from_hugging_face(place: str | Path) -> nn.Module:
    """A GPT-2, Llama, Mistral, Qwen 3, Gemma 3, OLMo 2, BERT, T5, Marian or ViT with its weights, in evaluation mode.

    Args:
        place: a folder with config.json and model.safetensors, or with its parts and their index; or a model's name on
            the hub, which is asked for these files (needs the package huggingface_hub, and the network).

    Raises:
        FileNotFoundError: it is no folder with these files, and the hub cannot be asked.
        ValueError: the family is not known, or names or shapes are not those of the configuration.
    """
    folder = _folder(place)
    config_file = folder / CONFIG
    weights_file = folder / (WHOLE if (folder / WHOLE).is_file() else INDEX)
    theirs = json.loads(config_file.read_text(encoding="utf-8"))
    kind = theirs.get("model_type")
    if kind not in FAMILIES:
        raise ValueError(f"model_type must be one of {', '.join(FAMILIES)}, got {kind!r} in {config_file}")
    family = FAMILIES[kind]
    model = family.model(family.config(theirs))
    weights = _renamed(_tensors(weights_file), family, weights_file)
    family.change(weights, model.config)
    _put(model, weights, weights_file)
    return model.eval()


def _tensors(file: Path) -> dict[str, Tensor]:
    """All tensors of a file of weights, or of the parts that an index names."""
    if file.name == WHOLE:
        return load_file(file)
    named = json.loads(file.read_text(encoding="utf-8"))["weight_map"].values()
    parts = {Path(name).name for name in named}  # beside the index, whatever it says
    return {name: tensor for part in parts for name, tensor in load_file(file.with_name(part)).items()}


def _folder(place: str | Path) -> Path:
    folder = Path(place)
    if (folder / CONFIG).is_file() and ((folder / WHOLE).is_file() or (folder / INDEX).is_file()):
        return folder
    if folder.is_dir() or len(folder.parts) > 2:
        missing = WHOLE if (folder / CONFIG).is_file() else CONFIG
        raise FileNotFoundError(f"place must be a folder with {CONFIG} and {WHOLE}, {folder} has no {missing}")
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(str(place), allow_patterns=[CONFIG, INDEX, "model*.safetensors"]))
    except Exception as error:  # the hub's own errors are many, and none is ours to tell apart
        said = str(error).partition("\n")[0][:200] or type(error).__name__
        raise FileNotFoundError(f"{place} is no folder here, and the hub could not be asked for it: {said}") from error


def _renamed(theirs: Mapping[str, Tensor], family: Family, file: Path) -> dict[str, Tensor]:
    """Their tensors under our names; ValueError if a name is left over."""
    patterns = [(re.compile(re.escape(name).replace(r"\#", r"(\d+)")), ours) for name, ours in family.names.items()]
    ours: dict[str, Tensor] = {}
    left = []
    for name, tensor in theirs.items():
        place, _, end = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name)).rpartition(".")
        if end not in ("weight", "bias"):
            place, end = name, ""
        found = [(match, to) for pattern, to in patterns if (match := pattern.fullmatch(place))]
        if found:
            match, to = found[0]
            several = [to] if isinstance(to, str) else list(to)
            numbered = [_numbered(target, match.groups()) for target in several]
            parts = tensor.chunk(len(several), dim=-1)
            ours |= {f"{target}.{end}".removesuffix("."): part for target, part in zip(numbered, parts, strict=True)}
        elif not any(re.fullmatch(pattern, name) for pattern in family.unused):
            left.append(name)
    if left:
        raise ValueError(f"{file} holds names that belong to nothing here: {', '.join(sorted(left))}"[:2000])
    return ours


def _numbered(name: str, numbers: tuple[str, ...]) -> str:
    for number in numbers:  # of a layer, of an expert
        name = name.replace("#", number, 1)
    return name


def _put(model: nn.Module, weights: Mapping[str, Tensor], file: Path) -> None:
    """Give the model its weights; ValueError if one is missing, or has another shape."""
    own = model.state_dict(keep_vars=True)
    for name, tensor in weights.items():
        if name not in own or own[name].shape != tensor.shape:
            expected = tuple(own[name].shape) if name in own else "nothing of this name"
            raise ValueError(f"{file}: {name} must have shape {expected}, got {tuple(tensor.shape)}")
    given = {id(own[name]) for name in weights}
    missing = [name for name, weight in own.items() if id(weight) not in given]
    if missing:
        raise ValueError(f"{file} lacks {', '.join(missing)}"[:2000])
    with torch.no_grad():
        for name, tensor in weights.items():
            own[name].copy_(tensor)


def _activation(config: Config, key: str) -> str:
    name = config.get(key)
    if name not in ACTIVATIONS:
        raise ValueError(f"{key} must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]


def _must(config: Config, **expected: Any) -> None:
    """Raise unless a setting that would change what is computed has the value that it has here."""
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise ValueError(f"{key} must be {value!r}, got {config[key]!r}")


def _gpt2(c: Config) -> GPTConfig:
    _must(c, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    _must(c, tie_word_embeddings=True)
    return GPTConfig(
        c["vocab_size"], c["n_embd"], c["n_head"], c.get("n_inner") or 4 * c["n_embd"], c["n_layer"],
        c.get("resid_pdrop", 0.1), c["n_positions"], _activation(c, "activation_function"),
        c.get("layer_norm_epsilon", 1e-5),
    )  # fmt: skip


def _bert(c: Config) -> BERTConfig:
    _must(c, position_embedding_type="absolute", is_decoder=False, tie_word_embeddings=True)
    if (activation := _activation(c, "hidden_act")) != "gelu":
        raise ValueError(f"hidden_act must be 'gelu', got {activation!r}")
    return BERTConfig(
        c["vocab_size"], c["hidden_size"], c["num_attention_heads"], c["intermediate_size"], c["num_hidden_layers"],
        c.get("hidden_dropout_prob", 0.1), c["max_position_embeddings"], c.get("type_vocab_size", 2),
        eps=c.get("layer_norm_eps", 1e-12), pad_id=c.get("pad_token_id") or 0,
    )  # fmt: skip


def _t5(c: Config) -> T5Config:
    if c["d_kv"] * c["num_heads"] != c["d_model"] or c.get("num_decoder_layers", c["num_layers"]) != c["num_layers"]:
        raise ValueError("d_kv must be d_model / num_heads, and num_decoder_layers must be num_layers")
    kinds = {"relu": "relu", "gated-gelu": "gated"}
    kind = c.get("feed_forward_proj", "relu")
    if kind not in kinds:
        raise ValueError(f"feed_forward_proj must be one of {', '.join(kinds)}, got {kind!r}")
    tied = c.get("tie_word_embeddings", True)
    return T5Config(
        c["vocab_size"], c["d_model"], c["num_heads"], c["d_ff"], c["num_layers"], c.get("dropout_rate", 0.1),
        kinds[kind], tied, c.get("scale_decoder_outputs", tied), c.get("relative_attention_num_buckets", 32),
        c.get("relative_attention_max_distance", 128), eps=c.get("layer_norm_epsilon", 1e-6),
        pad_id=c.get("pad_token_id") or 0,
    )  # fmt: skip


def _marian(c: Config) -> MarianConfig:
    _must(c, scale_embedding=True, share_encoder_decoder_embeddings=True, decoder_layers=c["encoder_layers"])
    _must(c, decoder_ffn_dim=c["encoder_ffn_dim"], decoder_attention_heads=c["encoder_attention_heads"])
    return MarianConfig(
        c["vocab_size"], c["d_model"], c["encoder_attention_heads"], c["encoder_ffn_dim"], c["encoder_layers"],
        c.get("dropout", 0.1), c["max_position_embeddings"], _activation(c, "activation_function"), c["pad_token_id"],
    )  # fmt: skip


def _vit(c: Config) -> ViTConfig:
    _must(c, qkv_bias=True)
    classes = len(c["id2label"]) if "id2label" in c else c.get("num_labels", 2)
    return ViTConfig(
        classes, c["image_size"], c["patch_size"], c["num_channels"], c["hidden_size"], c["num_attention_heads"],
        c["intermediate_size"], c["num_hidden_layers"], c.get("hidden_dropout_prob", 0.0), _activation(c, "hidden_act"),
        c.get("layer_norm_eps", 1e-12),
    )  # fmt: skip


def _llama(c: Config) -> LlamaConfig:
    _must(c, attention_bias=False, mlp_bias=False, attn_logit_softcapping=None, final_logit_softcapping=None)
    kind = c["model_type"]
    is_gemma, d_head = kind == "gemma3_text", c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    older: Config = {"rope_theta": c.get("rope_theta", 10_000.0), **(c.get("rope_scaling") or {})}
    turns: Config = c.get("rope_parameters") or older
    every: Config = turns.get("full_attention", turns)
    _must(c, query_pre_attn_scalar=d_head)
    _must(every, low_freq_factor=1.0, high_freq_factor=4.0, beta_fast=32.0, beta_slow=1.0, attention_factor=None)
    name = every.get("rope_type", every.get("type", "default")).replace("default", "")
    return LlamaConfig(
        c["vocab_size"], c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"], d_head,
        c["intermediate_size"], c["num_hidden_layers"], c["max_position_embeddings"], c["rms_norm_eps"],
        every["rope_theta"], name, every.get("factor", 1.0),
        every.get("original_max_position_embeddings") or c["max_position_embeddings"],
        {"gemma3_text": "both", "olmo2": "after"}.get(kind, "before"),
        {"gemma3_text": "head", "qwen3": "head", "olmo2": "all"}.get(kind, ""), *_windows(c),
        turns.get("sliding_attention", {}).get("rope_theta", c.get("rope_local_base_freq", every["rope_theta"])),
        _activation(c, "hidden_activation" if is_gemma else "hidden_act"),
        c.get("tie_word_embeddings", is_gemma), is_gemma, c.get("pad_token_id"),
    )  # fmt: skip


def _deepseek(c: Config) -> DeepSeekConfig:
    _must(c, attention_bias=False, n_group=1, n_shared_experts=1, norm_topk_prob=True, rope_interleave=True)
    _must(c.get("rope_parameters") or c.get("rope_scaling") or {}, rope_type="default")
    theta = (c.get("rope_parameters") or c).get("rope_theta", 10_000.0)
    return DeepSeekConfig(
        c["vocab_size"], c["hidden_size"], c["num_attention_heads"], c["num_attention_heads"], c["qk_nope_head_dim"],
        c["intermediate_size"], c["num_hidden_layers"], c["max_position_embeddings"], c["rms_norm_eps"], theta,
        tied=c.get("tie_word_embeddings", False), pad_id=c.get("pad_token_id"), d_turned=c["qk_rope_head_dim"],
        d_value=c["v_head_dim"], rank=c["kv_lora_rank"], query_rank=c["q_lora_rank"],
        dense_layers=c["first_k_dense_replace"], d_expert=c["moe_intermediate_size"], num_experts=c["n_routed_experts"],
        top_k=c["num_experts_per_tok"], expert_gain=c["routed_scaling_factor"],
    )  # fmt: skip


def _windows(c: Config) -> tuple[int, int]:
    """The tokens that a layer sees, and which layers see all: each of this number, 0 none."""
    window, kinds = c.get("sliding_window"), c.get("layer_types")
    if not window or c.get("use_sliding_window") is False or c["model_type"] in ("llama", "olmo2"):
        return 0, 0
    if kinds is None:
        return window, c.get("sliding_window_pattern", 0)
    full = [i + 1 for i, kind in enumerate(kinds) if kind == "full_attention"]
    every = full[0] if full else 0
    if full != ([*range(every, len(kinds) + 1, every)] if every else []):
        raise ValueError(f"layer_types must have full_attention at each n-th layer, got it at {full} of {len(kinds)}")
    return (0, 0) if every == 1 else (window, every)


def _one_more(weights: dict[str, Tensor], config: LlamaConfig) -> None:
    """Gemma's norms multiply by 1 + γ."""
    for name in weights:
        if name.endswith(("before.weight", "after.weight", "_norm.weight")):
            weights[name] = weights[name] + 1


def _gained(weights: dict[str, Tensor], config: DeepSeekConfig) -> None:
    """DeepSeek multiplies what the experts give, but for the shared one; here their last matrices are."""
    for name in weights:
        if ".experts." in name and name.endswith("contract.weight"):
            weights[name] = weights[name] * config.expert_gain


def _turned(weights: dict[str, Tensor], config: Any) -> None:
    """GPT-2's matrices lie the other way round, (inputs, outputs); its positions are a table here."""
    weights["positional_encoding.table"] = weights.pop("position_embedding.weight")
    for name in weights:
        if ".layers." in name and weights[name].dim() == 2:
            weights[name] = weights[name].T


def _scaled(weights: dict[str, Tensor], config: T5Config) -> None:
    """T5 does not divide its scores by √d_head; here they are: its queries are made larger by as much."""
    for name in weights:
        if name.endswith("query_projection.weight"):
            weights[name] = weights[name] * (config.d_model // config.num_heads) ** 0.5
    if config.tied:
        weights.pop("projection.linear.weight", None)


def _flat(weights: dict[str, Tensor], config: Any) -> None:
    """A bias that is a row, pixels of a patch that are not in one line, positions that are a batch of one."""
    for name, start in (("projection.linear.bias", 0), ("patch_embedding.weight", 1)):
        if name in weights:
            weights[name] = weights[name].flatten(start)
    if "positional_encoding.table" in weights:
        weights["positional_encoding.table"] = weights["positional_encoding.table"][0]


def _attention(theirs: str, ours: str, **parts: str) -> dict[str, str | tuple[str, ...]]:
    return {f"{theirs}.{name}": f"{ours}.{part}_projection" for part, name in parts.items()}


def _sides(names: Callable[[str], dict[str, str | tuple[str, ...]]]) -> dict[str, str | tuple[str, ...]]:
    return {**names("encoder"), **names("decoder")}


def _t5_names(side: str) -> dict[str, str | tuple[str, ...]]:
    block, layer = f"{side}.block.#.layer", f"{side}.layers.#"
    last = 2 if side == "decoder" else 1
    dense = f"{block}.{last}.DenseReluDense"
    roles = {"query": "q", "key": "k", "value": "v", "output": "o"}
    first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias"  # all layers use it
    names: dict[str, str | tuple[str, ...]] = {
        **_attention(f"{block}.0.SelfAttention", f"{layer}.self_attention", **roles),
        first: f"{side}.layers.0.self_attention.positions.bias",
        f"{block}.0.layer_norm": f"{layer}.self_attention_residual.norm",
        f"{dense}.wi": f"{layer}.feed_forward.expand",
        f"{dense}.wo": f"{layer}.feed_forward.contract",
        f"{dense}.wi_0": f"{layer}.feed_forward.gate",
        f"{dense}.wi_1": f"{layer}.feed_forward.expand",
        f"{block}.{last}.layer_norm": f"{layer}.feed_forward_residual.norm",
        f"{side}.final_layer_norm": f"{side}.final_norm",
    }
    if side == "decoder":
        names |= _attention(f"{block}.1.EncDecAttention", f"{layer}.cross_attention", **roles)
        names |= {f"{block}.1.layer_norm": f"{layer}.cross_residual.norm"}
    return names


def _marian_names(side: str) -> dict[str, str | tuple[str, ...]]:
    theirs, ours = f"model.{side}.layers.#", f"{side}.layers.#"
    roles = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    names: dict[str, str | tuple[str, ...]] = {
        **_attention(f"{theirs}.self_attn", f"{ours}.self_attention", **roles),
        f"{theirs}.self_attn_layer_norm": f"{ours}.self_attention_residual.norm",
        f"{theirs}.fc1": f"{ours}.feed_forward.expand",
        f"{theirs}.fc2": f"{ours}.feed_forward.contract",
        f"{theirs}.final_layer_norm": f"{ours}.feed_forward_residual.norm",
    }
    if side == "decoder":
        names |= _attention(f"{theirs}.encoder_attn", f"{ours}.cross_attention", **roles)
        names |= {f"{theirs}.encoder_attn_layer_norm": f"{ours}.cross_residual.norm"}
    return names


def _gpt2_names(prefix: str) -> dict[str, str | tuple[str, ...]]:
    theirs, ours = f"{prefix}h.#", "decoder.layers.#"
    three = tuple(f"{ours}.self_attention.{part}_projection" for part in ("query", "key", "value"))
    return {
        f"{prefix}wte": "embedding",
        f"{prefix}wpe": "position_embedding",
        f"{theirs}.ln_1": f"{ours}.self_attention_residual.norm",
        f"{theirs}.attn.c_attn": three,
        f"{theirs}.attn.c_proj": f"{ours}.self_attention.output_projection",
        f"{theirs}.ln_2": f"{ours}.feed_forward_residual.norm",
        f"{theirs}.mlp.c_fc": f"{ours}.feed_forward.expand",
        f"{theirs}.mlp.c_proj": f"{ours}.feed_forward.contract",
        f"{prefix}ln_f": "decoder.final_norm",
    }


def _llama_names(first: str, second: str, **more: str) -> dict[str, str | tuple[str, ...]]:
    """`first` and `second`: theirs of the norms of attention and feed-forward part; `more`: of further ones."""
    theirs, ours = "model.layers.#", "decoder.layers.#"
    roles = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "o_proj"}
    norms = {"self_attention_residual.before": first, "feed_forward_residual.before": second}
    norms |= {name.replace("__", "."): norm for name, norm in more.items()}
    return {
        **_attention(f"{theirs}.self_attn", f"{ours}.self_attention", **roles),
        **{
            f"{theirs}.self_attn.{c}_norm": f"{ours}.self_attention.{c_}_norm"
            for c, c_ in (("q", "query"), ("k", "key"))
        },
        **{f"{theirs}.mlp.{a}_proj": f"{ours}.feed_forward.{b}" for a, b in GATE.items()},
        **{f"{theirs}.{name}": f"{ours}.{place}" for place, name in norms.items() if name},
        "model.embed_tokens": "embedding",
        "model.norm": "decoder.final_norm",
        "lm_head": "projection.linear",
    }


def _deepseek_names() -> dict[str, str | tuple[str, ...]]:
    theirs, ours = "model.layers.#", "decoder.layers.#"
    parts = {"q_proj": "query_projection", "q_a_proj": "query_projection.0", "q_a_layernorm": "query_projection.1",
             "q_b_proj": "query_projection.2", "kv_a_proj_with_mqa": "down", "kv_a_layernorm": "norm",
             "kv_b_proj": "up", "o_proj": "output_projection"}  # fmt: skip
    several = {"experts.#.": "experts.#", "shared_experts.": "shared"}
    return {
        **LLAMA_NAMES,
        **{f"{theirs}.self_attn.{a}": f"{ours}.self_attention.{b}" for a, b in parts.items()},
        **{
            f"{theirs}.mlp.{place}{a}_proj": f"{ours}.feed_forward.{to}.{b}"
            for place, to in several.items() for a, b in GATE.items()
        },
        f"{theirs}.mlp.gate": f"{ours}.feed_forward.router",
        f"{theirs}.mlp.gate.e_score_correction_bias": f"{ours}.feed_forward.bias",
    }  # fmt: skip


GATE = {"gate": "gate", "up": "expand", "down": "contract"}
LLAMA_NAMES = _llama_names("input_layernorm", "post_attention_layernorm")
AFTER = {"feed_forward_residual__after": "post_feedforward_layernorm"}
AFTER |= {"self_attention_residual__after": "post_attention_layernorm"}
BERT_NAMES: dict[str, str | tuple[str, ...]] = {
    "bert.embeddings.word_embeddings": "embedding",
    "bert.embeddings.position_embeddings": "position_embedding",
    "bert.embeddings.token_type_embeddings": "segment_embedding",
    "bert.embeddings.LayerNorm": "embedding_norm",
    **_attention("bert.encoder.layer.#.attention.self", "encoder.layers.#.self_attention", query="query", key="key",
                 value="value"),
    "bert.encoder.layer.#.attention.output.dense": "encoder.layers.#.self_attention.output_projection",
    "bert.encoder.layer.#.attention.output.LayerNorm": "encoder.layers.#.self_attention_residual.norm",
    "bert.encoder.layer.#.intermediate.dense": "encoder.layers.#.feed_forward.expand",
    "bert.encoder.layer.#.output.dense": "encoder.layers.#.feed_forward.contract",
    "bert.encoder.layer.#.output.LayerNorm": "encoder.layers.#.feed_forward_residual.norm",
    "cls.predictions.transform.dense": "transform",
    "cls.predictions.transform.LayerNorm": "transform_norm",
    "cls.predictions": "projection.linear",
}  # fmt: skip
VIT_NAMES: dict[str, str | tuple[str, ...]] = {
    "vit.embeddings.cls_token": "class_token",
    "vit.embeddings.position_embeddings": "positional_encoding.table",
    "vit.embeddings.patch_embeddings.projection": "patch_embedding",
    **_attention("vit.encoder.layer.#.attention.attention", "encoder.layers.#.self_attention", query="query", key="key",
                 value="value"),
    "vit.encoder.layer.#.attention.output.dense": "encoder.layers.#.self_attention.output_projection",
    "vit.encoder.layer.#.layernorm_before": "encoder.layers.#.self_attention_residual.norm",
    "vit.encoder.layer.#.layernorm_after": "encoder.layers.#.feed_forward_residual.norm",
    "vit.encoder.layer.#.intermediate.dense": "encoder.layers.#.feed_forward.expand",
    "vit.encoder.layer.#.output.dense": "encoder.layers.#.feed_forward.contract",
    "vit.layernorm": "encoder.final_norm",
    "classifier": "classifier",
}  # fmt: skip
# The table of the embeddings again, and what follows from the formula of the positions.
SAME = (r".*embed_tokens\.weight", r"lm_head\.weight", r".*embed_positions\.weight")

FAMILIES = {
    "gpt2": Family(GPT, _gpt2, {**_gpt2_names("transformer."), **_gpt2_names("")},
                   (r"lm_head\.weight", r".*\.attn\.(masked_)?bias"), _turned),
    **{name: Family(Llama, _llama, LLAMA_NAMES) for name in ("llama", "mistral", "qwen3")},
    "gemma3_text": Family(Llama, _llama, _llama_names("input_layernorm", "pre_feedforward_layernorm", **AFTER), (),
                          _one_more),
    "deepseek_v3": Family(DeepSeek, _deepseek, _deepseek_names(), (), _gained),
    "olmo2": Family(Llama, _llama, _llama_names("", "", **AFTER)),
    "bert": Family(BERT, _bert, BERT_NAMES,
                   (r"bert\.pooler\..*", r"cls\.seq_relationship\..*", r"cls\.predictions\.decoder\..*",
                    r".*position_ids")),
    "t5": Family(T5, _t5, {**_sides(_t5_names), "shared": "embedding", "lm_head": "projection.linear"},
                 (r"(en|de)coder\.embed_tokens\.weight",), _scaled),
    "marian": Family(Marian, _marian, {**_sides(_marian_names), "model.shared": "embedding.lookup",
                                       "final_logits_bias": "projection.linear.bias"}, SAME, _flat),
    "vit": Family(ViT, _vit, VIT_NAMES, (r"vit\.pooler\..*",), _flat),
}  # fmt: skip

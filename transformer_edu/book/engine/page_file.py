"""A trained model as one file for a page: weights of 16 or 8 bits, configuration and tokenizer, as safetensors."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import SPECIALS, Vocabulary
from transformer_edu.models import GPT
from transformer_edu.saving.checkpoint import distinct_weights, put_weights
from transformer_edu.saving.registry import FAMILIES, name_of
from transformer_edu.saving.tensor_file import KEY, to_json
from transformer_edu.support.arguments import check_is
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

LARGEST = 127  # of a signed byte
SCALE = ".scale"
USUAL = "Transformer"  # the family of a file that names none
ACTIVATIONS = ("relu", "gelu_tanh")  # that a page computes

Vocabularies = tuple[Vocabulary, Vocabulary] | Tokenizer


def page_file(model: Transformer | GPT, vocabularies: Vocabularies, bits: int = 16) -> bytes:
    """The model as a safetensors file.

    Args:
        model: any Transformer, or a GPT whose activation is one of ACTIVATIONS.
        vocabularies: of source and target; or the tokenizer of both. A GPT has a tokenizer.
        bits: 16 rounds each weight to eleven binary digits. 8 stores the weights of a matrix as whole numbers from
            -127 to 127 and, under NAME.scale, a factor for each row.

    Raises:
        TypeError, ValueError: they do not belong together, or the number of bits is another.
    """
    from safetensors.torch import save  # here, so that importing the package stays light

    check_is("model", model, Transformer, GPT)
    check_choice("bits", bits, (16, 8))
    header = _header(model, vocabularies)
    return bytes(save(packed(distinct_weights(model), bits), metadata={KEY: to_json(header)}))


def read_page_file(content: bytes) -> tuple[Any, Vocabularies]:
    """The model of such a file, in evaluation mode and float32, and its vocabularies: what the page computes with."""
    from safetensors.torch import load

    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][KEY])
    family = FAMILIES[header.get("family", USUAL)]
    model = family.model(family.config(**header["config"]))
    put_weights(model, unpacked(load(content)))
    if "tokenizer" in header:
        return model.eval(), Tokenizer.from_str(json.dumps(header["tokenizer"]))
    return model.eval(), (Vocabulary(header["source_words"]), Vocabulary(header["target_words"]))


def packed(weights: Mapping[str, Tensor], bits: int) -> dict[str, Tensor]:
    """Weights as a page's file holds them: with 16 bits each; or matrices with 8, and under NAME.scale a factor a row.

    Args:
        weights: of a model, by name.
        bits: 16 or 8.
    """
    tensors: dict[str, Tensor] = {}
    for name, weight in weights.items():
        weight = weight.detach().float().cpu()
        if bits == 8 and weight.dim() == 2:
            tensors[name], tensors[name + SCALE] = quantize(weight)
        else:
            tensors[name] = weight.half().contiguous()
    return tensors


def unpacked(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights, in float32, of what `packed` gave."""
    scales = {name.removesuffix(SCALE): tensor for name, tensor in tensors.items() if name.endswith(SCALE)}
    weights = {name: tensor.float() for name, tensor in tensors.items() if not name.endswith(SCALE)}
    return {name: weight * scales[name][:, None] if name in scales else weight for name, weight in weights.items()}


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (rows, columns) as int8, and a scale (rows) in float32: weight ≈ int8 · scale, row by row."""
    scale = weight.abs().amax(dim=1) / LARGEST
    scale = torch.where(scale > 0, scale, 1.0)  # a row of zeros stays one
    return (weight / scale[:, None]).round().to(torch.int8), scale


def _header(model: Transformer | GPT, vocabularies: Vocabularies) -> dict[str, Any]:
    """What the page has to know beside the weights."""
    if isinstance(model, Transformer):
        sizes = model.config.source_vocab_size, model.config.target_vocab_size
        return {"config": asdict(model.config), **_written(vocabularies, sizes)}
    check_choice("model.config.activation", model.config.activation, ACTIVATIONS)
    check_is("vocabularies", vocabularies, Tokenizer)
    size = model.config.vocab_size
    return {"family": name_of(model), "config": asdict(model.config), **_written(vocabularies, (size, size))}


def _written(vocabularies: Vocabularies, expected: tuple[int, int]) -> dict[str, object]:
    """The tokenizer as JSON can hold it; ValueError unless it has as many tokens as the model."""
    if isinstance(vocabularies, Tokenizer):
        sizes = (len(vocabularies),) * 2
        written: dict[str, object] = {"tokenizer": json.loads(vocabularies.to_str())}
    else:
        source, target = vocabularies
        check_is("vocabularies[0]", source, Vocabulary)
        check_is("vocabularies[1]", target, Vocabulary)
        sizes = len(source), len(target)
        words = [list(vocabulary.words[len(SPECIALS) :]) for vocabulary in (source, target)]
        written = {"source_words": words[0], "target_words": words[1]}
    if sizes != expected:
        raise ValueError(f"vocabularies must have the model's {expected[0]} and {expected[1]} tokens, got {sizes}")
    return written

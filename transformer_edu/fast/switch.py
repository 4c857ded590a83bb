"""Give the parts of a model their quick classes, and take them away again."""

from typing import TypeVar

from torch import nn

from transformer_edu import attention, normalization, parts, transformer
from transformer_edu.fast import gpt as quick_gpt
from transformer_edu.fast.attention import MultiHeadAttention
from transformer_edu.fast.dropout import Dropout
from transformer_edu.fast.loss import SummedLoss
from transformer_edu.fast.normalization import LayerNorm, RMSNorm
from transformer_edu.fast.transformer import Transformer
from transformer_edu.models import gpt
from transformer_edu.support.arguments import check_is
from transformer_edu.training import loss

QUICK: dict[type[nn.Module], type[nn.Module]] = {
    nn.Dropout: Dropout,
    attention.MultiHeadAttention: MultiHeadAttention,
    normalization.LayerNorm: LayerNorm,
    parts.RMSNorm: RMSNorm,
    transformer.Transformer: Transformer,
    gpt.GPT: quick_gpt.GPT,
    loss.SummedLoss: SummedLoss,
}
PLAIN = {quick: plain for plain, quick in QUICK.items()}

Model = TypeVar("Model", bound=nn.Module)


def switch_on(model: Model) -> Model:
    """Let every part of a model that has a quick class compute with it; return the model.

    Args:
        model: a Transformer, or any module that holds parts of one. Parts of other classes, subclasses among them,
            stay what they are.
    """
    return _exchange(model, QUICK)


def switch_off(model: Model) -> Model:
    """Let every part of a model compute with plain PyTorch again; return the model."""
    return _exchange(model, PLAIN)


def _exchange(model: Model, classes: dict[type[nn.Module], type[nn.Module]]) -> Model:
    check_is("model", model, nn.Module)
    for module in model.modules():
        module.__class__ = classes.get(type(module), type(module))
    return model

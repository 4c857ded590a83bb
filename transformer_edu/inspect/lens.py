"""The residual stream read before its end: what would the output layer write from here? (nostalgebraist, 2020)"""

import re

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_edu.inspect.record import record_activations
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.transformer import Transformer

PLACE = re.compile(r"\.(positional|after_\w+)$")


@torch.no_grad()
def stream_logits(
    model: Transformer, source: Int[Tensor, "batch src"], target: Int[Tensor, "batch tgt"]
) -> dict[str, Float[Tensor, "batch tgt vocab"]]:
    """Logits from each place on the decoder's way: the words' vectors with positions, then after every sub-layer.

    The names are those of `record_activations`: "decoder.positional", "decoder.0.after_self", "decoder.0.after_cross",
    ... With pre-norm the last norm, which the stream meets only at its end, is put before each reading.

    Args:
        source: ids. target: what the decoder reads, from the begin token on.
    """
    with evaluation_mode(model):
        with record_activations(model) as activations:
            model(source, target)
        on_the_way = [name for name in activations if name.startswith("decoder.") and PLACE.search(name)]
        return {name: model.project(model.decoder.final_norm(activations[name])) for name in on_the_way}

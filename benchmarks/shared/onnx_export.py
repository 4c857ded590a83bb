"""The book's models as two ONNX graphs each, made so that ONNX Runtime has as little to do as it can.

`Reader` is the encoder. It hands over the keys and values of its sentence for every decoder layer, so that they are
computed once. `Writer` is one step of the decoder: it takes the keys and values of the words so far and returns them
with one more, and of the scores only the few that a search looks at. Attention is the book's own, written out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from transformer_edu import Transformer
from transformer_edu.attention import MultiHeadAttention
from transformer_edu.data.vocabulary import BOS_ID, PAD_ID
from transformer_edu.support.cache import KeyValueCache, self_attention

BEAM = 5
BEST = 2 * BEAM  # continuations that beam search asks of each partial answer


class Reader(nn.Module):
    """Ids (1, source_seq) -> keys and values of the source, layer after layer: (1, heads, source_seq, d_head)."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        """Read a sentence."""
        model = self.model
        words = model.source_embedding.lookup(source) * model.config.d_model**0.5
        memory = model.encoder(words + model.positional_encoding.table[: source.shape[1]])
        roads = [layer.cross_attention for layer in model.decoder.layers]
        projected = [(road.key_projection(memory), road.value_projection(memory), road) for road in roads]
        return tuple(road.split_heads(x) for *both, road in projected for x in both)


class Writer(nn.Module):
    """One more token for each partial answer of a beam."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, newest: Tensor, position: Tensor, parents: Tensor, cross: Sequence[Tensor], past: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """Read the newest tokens.

        Args:
            newest: ids (beam, 1), which stand at `position` (1).
            parents: (beam) which row of `past` each of them goes on from.
            cross: what `Reader` returned.
            past: keys and values so far, layer after layer: (rows, heads, written, d_head).

        Returns:
            Log-probabilities (beam, BEST) of the likeliest next tokens, their ids, and `past` for the next call.
        """
        model, kept = self.model, []
        x = model.target_embedding.lookup(newest) * model.config.d_model**0.5
        x = x + model.positional_encoding.table[position]
        for i, layer in enumerate(model.decoder.layers):
            own = KeyValueCache(past[2 * i][parents], past[2 * i + 1][parents])
            x = _layer_step(layer, x, own, KeyValueCache(cross[2 * i], cross[2 * i + 1]))
            kept += own.kept()
        logits = model.project(model.decoder.final_norm(x))[:, 0]
        unwanted = torch.zeros(logits.shape[1])
        unwanted[[PAD_ID, BOS_ID]] = -torch.inf  # these two are no words
        return (*torch.log_softmax(logits + unwanted, dim=-1).topk(BEST), *kept)


def _layer_step(layer: Any, x: Tensor, own: KeyValueCache, source: KeyValueCache) -> Tensor:
    """A decoder layer on the newest tokens, (beam, 1, d_model)."""
    x = layer.self_attention_residual(x, lambda h: self_attention(layer.self_attention, h, None, own))
    x = x.transpose(0, 1)  # (1, beam, d_model): they all read one sentence, whose keys need not be copied for each
    x = layer.cross_residual(x, lambda h: layer.cross_attention.attend(h, source.kept()))
    return layer.feed_forward_residual(x, layer.feed_forward).transpose(0, 1)


@torch.no_grad()
def export(model: Transformer, folder: Path, name: str) -> None:
    """Write NAME.reader.onnx and NAME.writer.onnx; the packages onnx and onnxscript must be there."""
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.recorder = lambda weights: None  # written out, not the fused kernel, which exports as a longer graph
    config, beam = model.config, Dim("beam", max=64)
    read, written = Dim("read", max=config.max_len), Dim("written", min=0, max=config.max_len)
    source = torch.arange(4, 11)[None]
    cross = list(Reader(model)(source))
    layers = range(len(cross))
    past = [torch.zeros(3, *x.shape[1:2], 4, x.shape[3]) for x in cross]
    torch.onnx.export(
        Reader(model).eval(),
        (source,),
        folder / f"{name}.reader.onnx",
        input_names=["source"],
        output_names=[f"cross_{i}" for i in layers],
        dynamic_shapes=({1: read},),
        external_data=False,
        verbose=False,
    )
    torch.onnx.export(
        Writer(model).eval(),
        (torch.arange(4, 9)[:, None], torch.tensor([4]), torch.tensor([0, 0, 1, 2, 2]), cross, past),
        folder / f"{name}.writer.onnx",
        output_names=["scores", "ids", *(f"kept_{i}" for i in layers)],
        dynamic_shapes=(
            {0: beam},
            None,
            {0: beam},
            [{2: read} for _ in layers],
            [{0: Dim("rows", max=64), 2: written} for _ in layers],
        ),
        external_data=False,
        verbose=False,
    )

"""Known mistakes in how an encoder–decoder is put together: layers, dropout, scale, tying."""

import copy
from dataclasses import replace
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from transformer_edu.checks.components.transformer_variant import Model, mistake
from transformer_edu.fast.dropout import Dropout
from transformer_edu.transformer import TransformerConfig


@mistake(
    "the layers are kept in a plain Python list",
    symptom="the optimizer never trains them and .to(device) leaves them behind; the loss stops falling early",
    why="nn.Module finds parameters in modules and in nn.ModuleList, not in lists.",
    hint="Which container tells nn.Module what is inside?",
)
class LayersInList(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        for stack in (self.encoder, self.decoder):
            layers = list(stack.layers)
            del stack.layers
            stack.__dict__["layers"] = layers


@mistake(
    "all layers are one and the same layer",
    symptom="the parameter count does not grow with num_layers",
    why="[layer] * n holds n references to one object, so all layers share their weights.",
    hint="How many times is your layer's constructor called?",
)
class SameLayer(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        for stack in (self.encoder, self.decoder):
            stack.layers = nn.ModuleList([stack.layers[0]] * config.num_layers)


@mistake(
    "the layers start with identical weights",
    symptom="slower learning at first; the count is right and no error shows",
    why="the layers are deep copies of one layer and were not initialized again.",
    hint="What does copy.deepcopy do with the random weights that the first layer has already drawn?",
)
class DeepCopies(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        for stack in (self.encoder, self.decoder):
            stack.layers = nn.ModuleList([copy.deepcopy(stack.layers[0]) for _ in range(config.num_layers)])


class _AlwaysDropout(Dropout):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p)


@mistake(
    "dropout stays on in eval mode",
    symptom="two translations of one sentence differ",
    why="F.dropout drops unless it is told not to: its `training` argument defaults to True.",
    hint="How does a module know whether it is training, and who tells your dropout?",
)
class DropoutInEval(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.positional_encoding.dropout = _AlwaysDropout(config.dropout)


@mistake(
    "the argument `dropout` changes nothing",
    symptom="more overfitting than expected, the same with dropout 0.1 and 0.5",
    why="the number is not handed on to the parts that drop out.",
    hint="Follow `dropout` from build into an attention, a feed-forward part and a residual connection.",
)
class DropoutNeverOn(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(replace(config, dropout=0.0))


@mistake(
    "the embeddings are not multiplied by √d_model",
    symptom="with small initial embeddings (Xavier, or tied) the positions drown the words at first",
    why="section 3.4 of the paper multiplies them; the factor is missing on both sides.",
    hint="With d_model = 16, how much longer should a word's vector be than its row of the table?",
)
class Unscaled(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.source_embedding: Any = self.source_embedding.lookup
        self.target_embedding: Any = self.target_embedding.lookup


@mistake(
    "only one of the two embeddings is multiplied by √d_model",
    symptom="source and target words have very different scales; tying them makes it worse",
    why="the factor stands on one side only.",
    hint="Do both sides use the same embedding class?",
)
class HalfScaled(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.target_embedding: Any = self.target_embedding.lookup


@mistake(
    "tie_embeddings has no effect (or the weights are copied once, not shared)",
    symptom="the parameter count is too high by whole vocabulary matrices; tied matrices drift apart in training",
    why="tying means one Parameter object in two places; copying its numbers makes two that start out equal.",
    hint="After tying, `a.weight is b.weight` should be True. Is it?",
)
class TieIgnored(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(replace(config, tie_embeddings="none"))


@mistake(
    "tie_embeddings='all' ties two of the three matrices only",
    symptom="the parameter count is too high by one vocabulary matrix",
    why="the paper shares one matrix between source embedding, target embedding and projection.",
    hint="Which of the three still has a matrix of its own?",
)
class TieTwoOnly(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(replace(config, tie_embeddings="none" if config.tie_embeddings == "none" else "target"))

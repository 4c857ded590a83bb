"""An image read as a sentence: the vision Transformer (Dosovitskiy et al., 2021), an encoder on patches."""

from dataclasses import dataclass

import torch
from torch import nn

from transformer_edu.encoder import Encoder
from transformer_edu.models.blocks import build_layer
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import LearnedPositionalEncoding
from transformer_edu.support.arguments import check_stack
from transformer_edu.support.shapes import Float, Tensor, Vectors
from transformer_edu.support.validation import check_divisible


@dataclass(frozen=True)
class ViTConfig:
    """The numbers that define a vision Transformer; the defaults are those of the base model.

    Args:
        num_classes: what an image can be.
        image_size, patch_size: pixels of a side; a patch is a token.
        channels: numbers of a pixel.
        d_model, num_heads, d_ff, num_layers, dropout: those of the paper's layers.
        activation: between the two matrices of the feed-forward part.
        eps: of the norms.
    """

    num_classes: int = 1000
    image_size: int = 224
    patch_size: int = 16
    channels: int = 3
    d_model: int = 768
    num_heads: int = 12
    d_ff: int = 3072
    num_layers: int = 12
    dropout: float = 0.0
    activation: str = "gelu"
    eps: float = 1e-12

    def __post_init__(self) -> None:
        check_stack(self)
        check_divisible("image_size", self.image_size, "patch_size", self.patch_size)

    @property
    def num_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2


class ViT(nn.Module):
    """Images in, a score for every class out: the paper's encoder, pre-norm, whose words are patches.

    A patch's pixels times a matrix are its vector. A learned vector in front of them, which stands for no patch,
    gathers what the layers find; the scores are read from it.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = c = config
        self.patch_embedding = nn.Linear(c.channels * c.patch_size**2, c.d_model)
        self.class_token = nn.Parameter(torch.zeros(1, 1, c.d_model))
        self.positional_encoding = LearnedPositionalEncoding(c.d_model, c.num_patches + 1, c.dropout)
        self.encoder = Encoder([build_layer(c, pre=True) for _ in range(c.num_layers)], LayerNorm(c.d_model, c.eps))
        self.classifier = nn.Linear(c.d_model, c.num_classes)

    def forward(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch classes"]:
        """Images (batch, channels, image_size, image_size) -> logits (batch, num_classes)."""
        patches = self.patch_embedding(self.cut(images))  # (batch, patches, d_model)
        tokens = torch.cat([self.class_token.expand(len(images), -1, -1), patches], dim=1)
        return self.classifier(self.encoder(self.positional_encoding(tokens))[:, 0])

    def cut(self, images: Float[Tensor, "batch channels height width"]) -> Vectors:
        """Images -> their patches row by row, each with its pixels in one line (batch, patches, channels · p · p)."""
        c = self.config
        expected = (c.channels, c.image_size, c.image_size)
        if images.dim() != 4 or tuple(images.shape[1:]) != expected:
            raise ValueError(
                f"images must have shape (batch, {', '.join(map(str, expected))}), got {tuple(images.shape)}"
            )
        p = c.patch_size
        patches = images.unfold(2, p, p).unfold(3, p, p)  # (batch, channels, rows, columns, p, p)
        return patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)

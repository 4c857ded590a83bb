"""One model three times: the book's, one of `torch.nn.Transformer`, and Hugging Face's Marian.

All have one matrix for both embeddings and the projection, the sinusoidal table, post-norm layers with no last norm,
ReLU, biases in every layer and none in the projection, and the same dropout at the same four places: on the sum of
embedding and position, on the attention weights, inside the feed-forward part, and on every sub-layer's output.
What differs:
Marian leaves out padding by adding numbers to the scores where the others have a boolean mask, and its projection
adds a constant vector of zeros (`final_logits_bias`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu import Transformer, build_transformer, fast, sinusoidal_table

PAD, BOS, EOS = 0, 1, 2
FIRST_WORD = 4
NAMES = ("ours", "nn.Transformer", "Marian")


@dataclass(frozen=True)
class Shape:
    """The numbers that all three share."""

    d_model: int
    num_layers: int
    vocab_size: int = 6000
    dropout: float = 0.1
    max_len: int = 2100

    @property
    def num_heads(self) -> int:
        """Heads of 64 dimensions, as in the paper; two where there is no room for them."""
        return max(2, self.d_model // 64)

    @property
    def d_ff(self) -> int:
        """Four times d_model, as in the paper."""
        return 4 * self.d_model

    def __str__(self) -> str:
        return f"d={self.d_model}/{self.num_layers}+{self.num_layers}"


class TorchTransformer(nn.Module):
    """What a user of `torch.nn.Transformer` writes around it: embedding, positions, masks, projection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        layer = {"nhead": shape.num_heads, "dim_feedforward": shape.d_ff, "dropout": shape.dropout, "batch_first": True}
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.register_buffer("table", sinusoidal_table(shape.max_len, shape.d_model))
        self.dropout = nn.Dropout(shape.dropout)
        encoder_layer = nn.TransformerEncoderLayer(shape.d_model, **layer)
        decoder_layer = nn.TransformerDecoderLayer(shape.d_model, **layer)
        self.transformer = nn.Transformer(
            shape.d_model,
            shape.num_heads,
            custom_encoder=nn.TransformerEncoder(encoder_layer, shape.num_layers, enable_nested_tensor=False),
            custom_decoder=nn.TransformerDecoder(decoder_layer, shape.num_layers),
            batch_first=True,
        )
        self.projection = nn.Linear(shape.d_model, shape.vocab_size, bias=False)
        self.projection.weight = self.embedding.weight

    def embed(self, ids: Tensor) -> Tensor:
        """Ids (batch, seq) -> vectors (batch, seq, d_model)."""
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.table[: ids.shape[1]])

    def encode(self, source: Tensor) -> Tensor:
        """Ids (batch, source_seq) -> memory (batch, source_seq, d_model)."""
        return self.transformer.encoder(self.embed(source), src_key_padding_mask=source == PAD)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Ids (batch, seq) -> vectors (batch, seq, d_model)."""
        size = target.shape[1]
        future = torch.ones(size, size, dtype=torch.bool, device=target.device).triu(1)
        return self.transformer.decoder(
            self.embed(target),
            memory,
            tgt_mask=future,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Ids -> logits (batch, seq, vocab)."""
        return self.projection(self.decode(target, self.encode(source), source))


class Marian(nn.Module):
    """Hugging Face's MarianMTModel with random weights, behind the same call."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        sizes = {
            f"{half}_{what}": value
            for half in ("encoder", "decoder")
            for what, value in (
                ("layers", shape.num_layers),
                ("ffn_dim", shape.d_ff),
                ("attention_heads", shape.num_heads),
            )
        }
        self.model = MarianMTModel(
            MarianConfig(
                vocab_size=shape.vocab_size,
                d_model=shape.d_model,
                max_position_embeddings=shape.max_len,
                activation_function="relu",
                dropout=shape.dropout,
                attention_dropout=shape.dropout,
                activation_dropout=shape.dropout,
                scale_embedding=True,
                pad_token_id=PAD,
                eos_token_id=EOS,
                bos_token_id=BOS,
                decoder_start_token_id=BOS,
                forced_eos_token_id=None,
                attn_implementation="sdpa",
                **sizes,
            )
        )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Ids -> logits (batch, seq, vocab)."""
        return self.model(
            input_ids=source,
            attention_mask=source != PAD,
            decoder_input_ids=target,
            decoder_attention_mask=target != PAD,
            use_cache=False,
        ).logits


def build_ours(shape: Shape) -> Transformer:
    """The book's model, with what makes it quick switched on, as in the training command."""
    model = build_transformer(
        shape.vocab_size,
        shape.vocab_size,
        d_model=shape.d_model,
        num_heads=shape.num_heads,
        d_ff=shape.d_ff,
        num_layers=shape.num_layers,
        dropout=shape.dropout,
        pad_id=PAD,
        max_len=shape.max_len,
        tie_embeddings="all",
    )
    return fast.switch_on(model)


BUILDERS: dict[str, Callable[[Shape], Any]] = {
    "ours": build_ours,
    "nn.Transformer": TorchTransformer,
    "Marian": Marian,
}


def build(name: str, shape: Shape) -> Any:
    """A contender with weights from seed 0."""
    torch.manual_seed(0)
    return BUILDERS[name](shape)


def trainable(model: nn.Module) -> int:
    """Number of trainable parameters; a matrix used three times counts once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)

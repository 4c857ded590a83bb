"""The sizes of a Transformer, and the paper's two layers built from them."""

from dataclasses import dataclass

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.decoder import DecoderLayer
from transformer_edu.encoder import EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.normalization import LayerNorm
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.arguments import check_config, check_placement


@dataclass(frozen=True)
class TransformerConfig:
    """The numbers that define a Transformer; the defaults are the paper's base model (table 3).

    Args:
        source_vocab_size, target_vocab_size: tokens of the two vocabularies.
        d_model: length of every token's vector; even, and divisible by num_heads.
        num_heads: heads of d_model / num_heads dimensions.
        d_ff: inner length of the feed-forward part, four times d_model in the paper.
        num_layers: layers of the encoder, and as many of the decoder.
        dropout: probability of dropping a number, below 1 (section 5.4).
        norm: where the norm stands, "post" (the paper's figure 1) or "pre".
        final_norm: whether each stack ends in a norm of its own; None: only with "pre", whose sum would otherwise
            leave the stack unnormalized.
        pad_id: the id that fills short sentences up, in both vocabularies.
        max_len: longest sentence in tokens; rows of the positional table.
        tie_embeddings: "none"; "target": the target's table is the projection's; "all": one for all three (the paper).
    """

    source_vocab_size: int
    target_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    num_layers: int = 6
    dropout: float = 0.1
    norm: str = "post"
    final_norm: bool | None = None
    pad_id: int = 0
    max_len: int = 5000
    tie_embeddings: str = "none"

    def __post_init__(self) -> None:
        check_config(self)

    @property
    def vocab_size(self) -> int:
        """Tokens that the model can write."""
        return self.target_vocab_size

    @property
    def has_final_norm(self) -> bool:
        """Whether each stack ends in a norm of its own."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm


def build_encoder_layer(
    d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: str = "post"
) -> EncoderLayer:
    """The paper's encoder layer of these sizes; `norm` is "post" (the paper) or "pre"."""
    attention = MultiHeadAttention(d_model, num_heads, dropout)
    return EncoderLayer(attention, PositionwiseFeedForward(d_model, d_ff, dropout), _residual(d_model, dropout, norm))


def build_decoder_layer(
    d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0, norm: str = "post"
) -> DecoderLayer:
    """The paper's decoder layer of these sizes; `norm` is "post" (the paper) or "pre"."""
    own, cross = (MultiHeadAttention(d_model, num_heads, dropout) for _ in range(2))
    feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
    return DecoderLayer(own, cross, feed_forward, _residual(d_model, dropout, norm))


def _residual(d_model: int, dropout: float, norm: str) -> ResidualConnection:
    check_placement(norm)
    return ResidualConnection(LayerNorm(d_model), dropout, pre=norm == "pre")

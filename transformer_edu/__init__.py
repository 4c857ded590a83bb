"""Build the Transformer of "Attention Is All You Need", piece by piece.

Everything a chapter, a test or an exercise relies on can be imported from here. Importing this package loads no
plotting, widget or tokenizer library.
"""

from importlib import import_module
from typing import Any

from transformer_edu.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_edu.config import TransformerConfig, build_decoder_layer, build_encoder_layer
from transformer_edu.data.examples import RUNNING_SENTENCE, RUNNING_TRANSLATION, hand_example
from transformer_edu.decoder import Decoder, DecoderLayer
from transformer_edu.decoding.beam import Hypothesis, beam_search
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.decoding.sampling import sample
from transformer_edu.embedding import InputEmbedding, ProjectionLayer
from transformer_edu.encoder import Encoder, EncoderLayer
from transformer_edu.feedforward import PositionwiseFeedForward
from transformer_edu.inspect.from_torch_nn import copy_weights
from transformer_edu.inspect.mask_positions import mask_position
from transformer_edu.inspect.record import record_activations, record_attention
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.normalization import LayerNorm
from transformer_edu.parts import LearnedPositionalEncoding, RMSNorm
from transformer_edu.positional import PositionalEncoding, sinusoidal_table
from transformer_edu.residual import ResidualConnection
from transformer_edu.support.cache import DecoderCache, KeyValueCache
from transformer_edu.support.device import pick_device
from transformer_edu.training.loss import label_smoothing
from transformer_edu.training.schedule import warmup_schedule
from transformer_edu.transformer import Transformer, build_transformer

__version__ = "0.1.0"

LATER = {  # loaded when somebody asks for them
    "checks": "book.exercises.checks",
    "fast": "fast",
    "plots": "book.plots",
    "pretrained": "pretrained",
    "recordings": "book.recordings",
    "widgets": "book.figures",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        return import_module(f"{__name__}.{LATER[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "RUNNING_SENTENCE",
    "RUNNING_TRANSLATION",
    "Decoder",
    "DecoderCache",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "Hypothesis",
    "InputEmbedding",
    "KeyValueCache",
    "LayerNorm",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "PositionalEncoding",
    "PositionwiseFeedForward",
    "ProjectionLayer",
    "RMSNorm",
    "ResidualConnection",
    "Transformer",
    "TransformerConfig",
    "beam_search",
    "build_decoder_layer",
    "build_encoder_layer",
    "build_transformer",
    "causal_mask",
    "copy_weights",
    "greedy_search",
    "hand_example",
    "label_smoothing",
    "mask_position",
    "padding_mask",
    "pick_device",
    "record_activations",
    "record_attention",
    "sample",
    "scaled_dot_product_attention",
    "sinusoidal_table",
    "warmup_schedule",
]

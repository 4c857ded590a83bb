"""What later models put in the place of one of the paper's parts."""

from transformer_edu.parts.gated import GatedFeedForward
from transformer_edu.parts.learned import LearnedPositionalEncoding
from transformer_edu.parts.relative import BiasedAttention, RelativePositions
from transformer_edu.parts.rms_norm import RMSNorm
from transformer_edu.parts.rotary import RotaryPositions

__all__ = [
    "BiasedAttention",
    "GatedFeedForward",
    "LearnedPositionalEncoding",
    "RMSNorm",
    "RelativePositions",
    "RotaryPositions",
]

"""What later models put in the place of one of the paper's parts.

gated            GatedFeedForward: SwiGLU and GeGLU, where the feed-forward part stands
experts          Experts, there, too: a mixture, with `balancing_loss` and `balanced`
rms_norm         RMSNorm, where a norm stands
norm_placement   InnerNorms, where the residual connection stands: pre-norm, sandwich, OLMo 2's post-norm
learned          LearnedPositionalEncoding, where the sinusoids are added
rotary           RotaryPositions (`linear`, `ntk`, `yarn`, `llama3` for longer texts): MultiHeadAttention(rotate=...)
relative         BiasedAttention with RelativePositions (T5)
linear_biases    or with LinearBiases (ALiBi); or AlibiAttention, where the attention function stands
query_key_norm   NormedAttention, where attention stands
latent           LatentAttention, there, too: a cache of short vectors
soft_cap         capped_attention, where the attention function stands: MultiHeadAttention(function=...)
sinks            SinkAttention, there, too
window           WindowedAttention, there, too; or window_mask, where the causal mask stands
"""

from transformer_edu.parts.experts import Experts, balanced, balancing_loss
from transformer_edu.parts.gated import GatedFeedForward
from transformer_edu.parts.latent import LatentAttention
from transformer_edu.parts.learned import LearnedPositionalEncoding
from transformer_edu.parts.linear_biases import AlibiAttention, LinearBiases
from transformer_edu.parts.norm_placement import InnerNorms
from transformer_edu.parts.query_key_norm import NormedAttention
from transformer_edu.parts.relative import BiasedAttention, RelativePositions
from transformer_edu.parts.rms_norm import RMSNorm
from transformer_edu.parts.rotary import RotaryPositions
from transformer_edu.parts.sinks import SinkAttention
from transformer_edu.parts.soft_cap import capped_attention, soft_cap
from transformer_edu.parts.window import WindowedAttention, window_mask

__all__ = [
    "AlibiAttention",
    "BiasedAttention",
    "Experts",
    "GatedFeedForward",
    "InnerNorms",
    "LatentAttention",
    "LearnedPositionalEncoding",
    "LinearBiases",
    "NormedAttention",
    "RMSNorm",
    "RelativePositions",
    "RotaryPositions",
    "SinkAttention",
    "WindowedAttention",
    "balanced",
    "balancing_loss",
    "capped_attention",
    "soft_cap",
    "window_mask",
]

"""What later models put in the place of one of the paper's parts."""

from transformer_edu.parts.gated import GatedFeedForward
from transformer_edu.parts.rotary import RotaryPositions

__all__ = ["GatedFeedForward", "RotaryPositions"]

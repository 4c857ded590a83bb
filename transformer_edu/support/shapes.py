"""Names for the shapes of the book's tensors, written with jaxtyping and checked in the tests.

Dimension names, everywhere: batch, seq, q_len, k_len, heads, d_model, d_head, d_ff, vocab.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

Ids = Int[Tensor, "batch seq"]
"""Token ids, one sentence a row."""

Vectors = Float[Tensor, "batch seq d_model"]
"""One vector of d_model numbers for each token."""

Memory = Float[Tensor, "batch source_seq d_model"]
"""What the encoder hands to the decoder."""

Mask = Bool[Tensor, "..."]
"""True = may attend. Broadcastable to (batch, heads, q_len, k_len)."""

__all__ = ["Bool", "Float", "Ids", "Int", "Mask", "Memory", "Tensor", "Vectors"]

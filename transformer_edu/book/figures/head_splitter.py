"""How several heads are cut from one projection and put back together: the right reshape beside the wrong one."""

from typing import Any, ClassVar

import torch

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.figures.base import Figure, matrix_trait
from transformer_edu.book.figures.fields import index, made, one_of, whole, words
from transformer_edu.data.examples import hand_example
from transformer_edu.support.shapes import Tensor

STEPS = ("project", "split", "attend", "merge")
HEADS = (2, 4)
MATRICES = ("x", "w_q", "w_k", "w_v", "w_o")


def _of_hand(name: str) -> Any:
    return made(matrix_trait(), lambda so: getattr(hand_example(), name).int().tolist())


class HeadSplitter(Figure):
    """Multi-head attention on the hand example in four steps: project, split, attend, merge.

    Each number is tinted with its head. Splitting and merging are shown right, and wrong without the transpose.

    Args:
        tokens: other names for the three tokens.
        num_heads: 2 or 4; d_model is 4.
        step: the one shown first, 1 to 4.
        token: the one that is followed, counts from 0.

    Vaswani et al. 2017, section 3.2.2.
    """

    figure_name: ClassVar[str] = "head-splitter"

    tokens = words(lambda so: hand_example().tokens, 3, 3)
    x = _of_hand("x")
    w_q = _of_hand("w_q")
    w_k = _of_hand("w_k")
    w_v = _of_hand("w_v")
    w_o = _of_hand("w_o")
    num_heads = one_of(2, HEADS)
    step = whole(4, 1, len(STEPS))
    token = index(0, lambda so: len(so.tokens))

    def alt_text(self) -> str:
        """The step, and what a merge with and without the transpose puts into the followed token's row."""
        heads = self._heads()
        right = heads.transpose(0, 1).flatten(-2)[self.token].tolist()
        wrong = heads.reshape(len(self.tokens), -1)[self.token].tolist()
        right_text, wrong_text = (", ".join(f"{number:.2f}" for number in row) for row in (right, wrong))
        return (
            f"Multi-head attention in four steps on the tokens {', '.join(self.tokens)}: {self.num_heads} heads take "
            f"{4 // self.num_heads} of the 4 columns each, attend, and join; step {self.step}, "
            f"{STEPS[self.step - 1]}, is shown. Merged with the transpose back, the row of {self.tokens[self.token]} "
            f"is {right_text}. Reshaped without it, the row is {wrong_text}."
        )

    def _heads(self) -> Tensor:
        """The output of every head, (heads, seq, d_head)."""
        x = torch.tensor(self.x, dtype=torch.float64)
        projections = (x @ torch.tensor(w, dtype=torch.float64) for w in (self.w_q, self.w_k, self.w_v))
        query, key, value = (p.unflatten(-1, (self.num_heads, -1)).transpose(0, 1) for p in projections)
        output: Any = scaled_dot_product_attention(query, key, value)[0]
        return output

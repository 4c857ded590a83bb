"""The two examples that run through the whole book, each defined here and nowhere else."""

from dataclasses import dataclass

import torch

from transformer_edu.support.shapes import Float, Tensor

RUNNING_SENTENCE = "the small black cat does not sleep"
RUNNING_TRANSLATION = "le petit chat noir ne dort pas"


@dataclass(frozen=True)
class HandExample:
    """Three tokens, four dimensions, one head: small enough for pencil and paper.

    The matrices are chosen, not trained, so that every score is a one-digit whole number, √d_k is 2, and
    "cat" ends up looking at "black". The columns of x say: article, adjective, noun, any word; those of W_Q and W_K:
    noun, adjective, no adjective, by a noun; those of W_V: article, any word, noun, adjective. W_O writes each of these
    back into its column of x, and an article into the noun's too.
    """

    tokens: tuple[str, str, str]
    x: Float[Tensor, "3 4"]  # one row for each token
    w_q: Float[Tensor, "4 4"]
    w_k: Float[Tensor, "4 4"]
    w_v: Float[Tensor, "4 4"]
    w_o: Float[Tensor, "4 4"]


def hand_example() -> HandExample:
    """A fresh copy of the hand example, on the CPU, in the default dtype.

    >>> hand = hand_example()
    >>> ((hand.x @ hand.w_q) @ (hand.x @ hand.w_k).T).int().tolist()
    [[4, 6, 8], [4, 0, 8], [4, 8, 4]]
    """
    return HandExample(
        tokens=("the", "black", "cat"),
        x=torch.tensor([[1.0, 0, 0, 1], [0, 2, 0, 1], [0, 0, 2, 1]]),
        w_q=torch.tensor([[1.0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0]]),
        w_k=torch.tensor([[0.0, 0, 1, 1], [0, 1, -1, 1], [1, 0, 1, 0], [0, 0, 1, 1]]),
        w_v=torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]),
        w_o=torch.tensor([[1.0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]),
    )

"""How many steps until the last token has heard of the first: recurrence, convolution, attention."""

import math
from typing import ClassVar

from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import one_of, switch, whole

FEWEST, MOST = 4, 64
SIZES = (32, 64, 128, 256, 512, 1024)
KERNEL = 3


class PathLengthRacer(Figure):
    """Three layers race: a plain recurrent one, stacked convolutions (kernel 3), self-attention.

    In one step each does all that can be done at the same time: the recurrent layer reads one more token, a
    convolution computes one more layer, attention lets every token look at every other. `n` tokens (4 to 64), vectors
    of size `d` (32 … 1024), `dilated`: layer l of the convolution looks 2^(l-1) tokens to each side, not one. `step`
    is the number of steps made, 0 to n. Before the first, a reader can bet when each lane arrives.

    Folded: steps in a row, longest path and multiply-adds of a whole layer (`multiply_adds`), for gated recurrent
    layers, too, each with its O(…) of Vaswani et al. 2017, section 4, table 1.
    """

    figure_name: ClassVar[str] = "path-length-racer"

    n = whole(16, FEWEST, MOST)
    d = one_of(64, SIZES)
    dilated = switch(False)
    step = whole(0, 0, lambda so: so.n)

    def alt_text(self) -> str:
        """Who has arrived, and what a layer costs."""
        paths = path_lengths(self.n, self.dilated)
        costs = multiply_adds(self.n, self.d)
        how = "dilated convolutions" if self.dilated else "convolutions"
        names = {"recurrent": "plain recurrent layer", "convolution": how, "attention": "self-attention"}
        lanes = "; ".join(
            f"{name}: {paths[lane]}{', done' if paths[lane] <= self.step else ''}, "
            f"{costs[lane]:,} multiply-adds a layer"
            for lane, name in names.items()
        )
        ratio, share = attention_price(self.n, self.d)
        steps = f"{self.step} step{'s' * (self.step != 1)}"
        return (
            f"Steps until the last of {self.n} tokens has heard of the first, after {steps} of the race "
            f"(vectors of size {self.d}): {lanes}. Attention takes {ratio:.2f} times the plain recurrent layer's "
            f"multiply-adds and {costs['attention'] / costs['LSTM']:.2f} times an LSTM's; {100 * share:.1f} % of them, "
            "scores and mixing, grow with n²."
        )


def path_lengths(n: int, dilated: bool) -> dict[str, int]:
    """Steps from the first token's input to the last token's output."""
    convolution = math.ceil(math.log2(n)) if dilated else n - 1  # kernel 3: one token to each side, or 1, 2, 4, …
    return {"recurrent": n, "convolution": convolution, "attention": 1}


def multiply_adds(n: int, d: int) -> dict[str, int]:
    """Of one whole layer, n tokens with vectors of size d; biases, softmax and nonlinearities are not counted.

    Recurrent: one matrix for the token, one for the state; a GRU has three such pairs, an LSTM four. Convolution: one
    for each place of the kernel. Attention: four projections (query, key, value, output), then the scores and the
    mixing of values. The paper's table 1 gives leading terms only: n d², k n d², and n² d, which leaves the
    projections out.
    """
    square = n * d * d
    recurrent = {"recurrent": 2 * square, "GRU": 6 * square, "LSTM": 8 * square}
    return recurrent | {"convolution": KERNEL * square, "attention": 4 * square + 2 * n * n * d}


def attention_price(n: int, d: int) -> tuple[float, float]:
    """Attention's multiply-adds as a multiple of the plain recurrent layer's, and the share of them that grows with n².

    The multiple is 2 + n / d, always above 2. The share, 0 .. 1, is that of scores and mixing: half at n = 2 d.
    """
    costs = multiply_adds(n, d)
    return costs["attention"] / costs["recurrent"], 2 * n * n * d / costs["attention"]

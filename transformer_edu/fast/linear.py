"""`torch.nn.Linear` with quick products."""

from torch import nn

from transformer_edu.fast.products import Weights, linear
from transformer_edu.fast.search import search_with_products
from transformer_edu.support.shapes import Float, Tensor


class Linear(nn.Linear):
    """`torch.nn.Linear` in all but speed: same arguments, same initial weights, same names of the weights."""

    def forward(self, input: Float[Tensor, "... inner"]) -> Float[Tensor, "... outer"]:
        """Vectors (..., in_features) -> vectors (..., out_features)."""
        search = search_with_products(input)
        if search is None:
            return linear(input, self.weight, self.bias)
        return search.product(self, input, self._weights)

    def _weights(self) -> Weights:
        return self.weight, self.bias

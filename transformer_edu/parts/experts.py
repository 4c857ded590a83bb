"""Several feed-forward parts, of which each token goes through a few."""

from collections.abc import Sequence

import torch
from torch import nn

from transformer_edu.support.arguments import check_layers, check_sizes
from transformer_edu.support.shapes import Float, Int, Tensor, Vectors
from transformer_edu.support.validation import check_choice, check_vectors

SCORES = {"softmax": lambda logits: logits.softmax(dim=-1), "sigmoid": torch.sigmoid}


class Experts(nn.Module):
    """A mixture of experts: Σ g_e(x) · Expert_e(x) over the `top_k` whose scores are highest (Shazeer et al., 2017).

    The gates g are the scores of those chosen, divided by their sum. It stands where the feed-forward part stands.

    Args:
        d_model: length of the incoming and outgoing vectors.
        experts: modules (tokens, d_model) -> (tokens, d_model), as `GatedFeedForward`.
        top_k: how many of them a token goes through.
        shared: one more that every token goes through, with the gate 1 (DeepSeek-V2); None: none.
        scores: of the router's logits: "softmax" (Mixtral) or "sigmoid" (DeepSeek-V3).

    `bias` (experts,) is added to the scores for the choice, not for the gates; `balanced` moves it, no gradient does.
    After each pass `routed` is the scores (tokens, experts) and the choice (tokens, top_k), for a balancing loss.
    """

    bias: Tensor

    def __init__(
        self,
        d_model: int,
        experts: Sequence[nn.Module],
        top_k: int,
        shared: nn.Module | None = None,
        scores: str = "softmax",
    ) -> None:
        super().__init__()
        check_layers(experts)
        check_sizes(d_model=d_model, top_k=top_k)
        check_choice("scores", scores, tuple(SCORES))
        if top_k > len(experts):
            raise ValueError(f"top_k must be at most the number of experts, {len(experts)}, got {top_k}")
        self.d_model, self.top_k, self.scores = d_model, top_k, scores
        self.router = nn.Linear(d_model, len(experts), bias=False)
        self.register_buffer("bias", torch.zeros(len(experts)))
        self.experts = nn.ModuleList(experts)
        self.shared = shared
        self.routed: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Vectors) -> Vectors:
        """Vectors (batch, seq, d_model) -> vectors (batch, seq, d_model)."""
        check_vectors("x", x, self.d_model)
        tokens = x.flatten(0, 1)
        scores = SCORES[self.scores](self.router(tokens))  # (tokens, experts)
        chosen = (scores + self.bias).topk(self.top_k, dim=-1).indices
        self.routed = scores, chosen
        gates = scores.gather(-1, chosen)
        gates = gates / gates.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(tokens) if self.shared is None else self.shared(tokens[None])[0]
        for index, expert in enumerate(self.experts):
            token, place = (chosen == index).nonzero(as_tuple=True)
            if len(token):
                out = out.index_add(0, token, gates[token, place, None] * expert(tokens[None, token])[0])
        return out.view_as(x)


def shares_of(chosen: Int[Tensor, "tokens top_k"], experts: int) -> Float[Tensor, " experts"]:
    """The part of all choices that fell on each expert; even, each has 1 / experts."""
    return torch.bincount(chosen.flatten(), minlength=experts) / chosen.numel()


def balancing_loss(scores: Float[Tensor, "tokens experts"], chosen: Int[Tensor, "tokens top_k"]) -> Float[Tensor, ""]:
    """Experts · Σ share · mean score (Fedus et al., 2021, equation 4): 1 if all are used alike.

    Added to the loss with a small weight. Gradient flows through the scores alone, and lowers those of the experts that
    are chosen most.
    """
    count = scores.shape[-1]
    return count * (shares_of(chosen, count) * scores.mean(dim=0)).sum()


def balanced(
    bias: Float[Tensor, " experts"], chosen: Int[Tensor, "tokens top_k"], step: float = 1e-3
) -> Float[Tensor, " experts"]:
    """The bias after a batch: one step up for experts with too few tokens, down for the others (Wang et al., 2024)."""
    shares = shares_of(chosen, len(bias))
    return bias + step * torch.sign(shares.mean() - shares)

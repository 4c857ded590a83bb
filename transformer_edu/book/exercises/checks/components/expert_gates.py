"""Checks which experts a token goes through, and with which weights."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_tensor, gradient_of


def check_expert_gates(fn: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Check fn(scores, bias, top_k) with scores (tokens, experts), bias (experts) -> gates (tokens, experts).

    Chosen are the top_k experts whose score plus bias is highest. Their gates are their scores, without the bias,
    divided by the sum of those chosen; the others have the gate 0. Scores are above 0.
    """
    COMPONENT.check(fn=fn)


def expert_gates(
    scores: Tensor,
    bias: Tensor,
    top_k: int,
    *,
    choose: Callable[[Tensor, Tensor], Tensor] = torch.add,
    weigh: Callable[[Tensor, Tensor], Tensor] = lambda scores, bias: scores,
    share: Callable[[Tensor], Tensor] = lambda kept: kept / kept.sum(dim=-1, keepdim=True),
    dim: int = -1,
) -> Tensor:
    """Everything but the chosen scores is 0, and a row sums to 1; the keywords exchange one step, for the mistakes."""
    chosen = choose(scores, bias).topk(top_k, dim=dim).indices
    mask = torch.zeros_like(scores).scatter(dim, chosen, 1.0)
    return share(weigh(scores, bias) * mask)


def _observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    result = as_tensor(fn(*given.values()))
    if result.shape != given["scores"].shape:
        raise Unfit(
            f"returned the shape {tuple(result.shape)}, expected that of scores, {tuple(given['scores'].shape)}"
        )
    return {"gates": result}


def _trial(title: str, scores: list[list[float]], bias: list[float], top_k: int) -> Trial:
    given = {"scores": torch.tensor(scores), "bias": torch.tensor(bias), "top_k": top_k}
    return Trial(title, given, _observe)


COMPONENT = Component(
    "expert gates",
    chapter=19,
    reference=expert_gates,
    trials=[
        _trial("two tokens, three experts, one of them each", [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], [0.0, 0.0, 0.0], 1),
        _trial("two of four experts", [[0.1, 0.4, 0.2, 0.3], [0.3, 0.1, 0.5, 0.1]], [0.0, 0.0, 0.0, 0.0], 2),
        _trial(
            "a bias that changes the choice", [[0.1, 0.4, 0.2, 0.3], [0.5, 0.25, 0.15, 0.1]], [0.5, 0.0, 0.0, 0.2], 2
        ),
        _trial("scores of a sigmoid, which sum to nothing in particular", [[0.9, 0.8, 0.2]], [0.0, -0.5, 0.0], 2),
        _trial("all experts", [[0.2, 0.5, 0.3]], [0.1, 0.0, 0.0], 3),
    ],
    gradient=gradient_of("scores"),
)
mistake = COMPONENT.mistake

mistake(
    "the bias is in the gates, not only in the choice",
    symptom="balancing changes what the model computes, and a gate can be above 1 or below 0",
    why="the bias is there to move tokens to other experts; how much an expert counts is for its score to say.",
    hint="Where does your function use the bias? Where should it?",
)(partial(expert_gates, weigh=torch.add))
mistake(
    "the bias is ignored",
    symptom="right as long as it is 0; then nothing balances the experts",
    why="the choice is made by the scores alone.",
    hint="Which argument does your result not depend on?",
)(partial(expert_gates, choose=lambda scores, bias: scores))
mistake(
    "the gates do not sum to 1",
    symptom="what the experts give shrinks, the more so the more experts there are",
    why="the scores of those chosen are taken as they are; they are a part of a softmax over all.",
    hint="What do the gates of one token add up to?",
)(partial(expert_gates, share=lambda kept: kept))
mistake(
    "every chosen expert has the same gate",
    symptom="no gradient reaches the router: it never learns",
    why="the mask of the choice is divided by top_k; the scores are gone.",
    hint="A token scores one expert 0.4 and another 0.3. Should both count alike?",
)(partial(expert_gates, weigh=lambda scores, bias: torch.ones_like(scores)))
mistake(
    "a second softmax over what was chosen",
    symptom="the gates are all nearly alike",
    why="the scores are probabilities already; a softmax of numbers between 0 and 1 hardly tells them apart.",
    hint="Take two scores, 0.9 and 0.2. What should their gates be?",
)(partial(expert_gates, share=lambda kept: kept.masked_fill(kept == 0, -torch.inf).softmax(dim=-1)))
mistake(
    "experts choose tokens, not tokens experts: topk runs over the wrong dimension",
    symptom="some tokens go nowhere, others everywhere",
    why="dimension 0 counts tokens, the last one experts.",
    hint="How many gates above 0 has each row?",
)(lambda scores, bias, top_k: expert_gates(scores, bias, min(top_k, len(scores)), dim=0))
mistake(
    "the gates are divided by the sum of all scores",
    symptom="right for a softmax that was never cut; the gates of a token sum to less than 1",
    why="the sum has to run over those that are chosen.",
    hint="Which scores does your sum run over?",
)(lambda scores, bias, top_k: expert_gates(scores, bias, top_k, share=lambda kept: kept / scores.sum(-1, keepdim=True)))
mistake(
    "the experts with the lowest scores are chosen",
    symptom="a token goes where it fits least",
    why="the scores were sorted upwards, and the first of them taken.",
    hint="Which expert should the first token of the first trial go to?",
)(partial(expert_gates, choose=lambda scores, bias: -(scores + bias)))

"""What right numbers do not show: a call that writes into its arguments, a result that is cut off from the gradient."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.checks.engine.trial import Mistake, Trial

AFTERWARDS = ", after the call"
Observe = Callable[[Any, dict[str, Any]], Any]


# ------------------------------------------------------------------ inputs


def inputs_of(trial: Trial) -> Trial:
    """The same experiment, of which only the lists, dictionaries and tensors that were handed over are looked at."""

    def observe(candidate: Any, given: dict[str, Any]) -> dict[str, Any]:
        with suppress(Exception):  # the trial itself tells of it
            trial.observe(candidate, given)
        kept = {name: value for name, value in given.items() if isinstance(value, Tensor | list | dict)}
        return {f"{name}{AFTERWARDS}": value for name, value in kept.items()}

    return replace(trial, observe=observe, tolerance=0.0)


def changes_its_input(labels: list[str]) -> Mistake:
    """The mistake of writing into these arguments."""
    names = ", ".join(label.removesuffix(AFTERWARDS) for label in labels)
    return Mistake(
        f"the call changes its input: {names}",
        symptom="the answer is right, but what the caller computes from the same object afterwards is wrong",
        why="`+=`, names that end in `_`, `out=`, an assigned slice, `pop` and `sort` write into the object itself.",
        hint="Which line writes into an argument? Let it make a new tensor or list, or work on a copy.",
    )


# ------------------------------------------------------------------ gradients


def call(fn: Any, given: dict[str, Any]) -> Any:
    """What the candidate returns, as it is."""
    return fn(*given.values())


def gradient_of(*names: str, call: Observe = call) -> Observe:
    """Observe the gradients of these inputs; None, which is not compared, where the answer is no tensor.

    Whoever returns a list or an array does not compute with torch, and is judged by the numbers alone.
    """

    def observe(candidate: Any, given: dict[str, Any]) -> dict[str, Any]:
        leaves = {name: _nudged(given[name]) for name in names if name in given}
        labels = [f"gradient of {name}" for name in leaves]
        plain = {name: leaf.detach().clone() for name, leaf in leaves.items()}
        if not leaves or _tensor(call(candidate, given | plain)) is None:
            return dict.fromkeys(labels)
        answer = _tensor(call(candidate, given | {name: leaf.clone() for name, leaf in leaves.items()}))
        return dict(zip(labels, _gradients(answer, list(leaves.values())), strict=True))

    return observe


def _nudged(value: Tensor) -> Tensor:
    """A little off the round numbers of the example: there, an absolute value or a maximum could have a corner."""
    return (value + 0.01 * torch.randn(value.shape).to(value.dtype)).requires_grad_()


def _tensor(answer: Any) -> Tensor | None:
    """The answer, or the first part of a pair such as (output, weights); None if it is no tensor."""
    first = answer[0] if isinstance(answer, tuple | list) and answer else answer
    return first if isinstance(first, Tensor) else None


def _gradients(answer: Tensor | None, leaves: list[Tensor]) -> list[Any]:
    """Of a sum of the answer's entries with weights, since the plain sum of a softmax is always 1."""
    if answer is None or not answer.requires_grad:
        return ["none"] * len(leaves)
    seeded = torch.Generator("cpu").manual_seed(0)
    weights = torch.randn(answer.shape, generator=seeded, dtype=torch.float32, device="cpu").to(answer.dtype)
    try:
        found = torch.autograd.grad((answer * weights).sum(), leaves, allow_unused=True)
    except RuntimeError:  # torch itself says so in training, and says why
        return [None] * len(leaves)
    return ["none" if g is None else g if g.isfinite().all() else None for g in found]


@torch.no_grad()
def forgotten_parameters(model: nn.Module, run: Callable[[], Tensor]) -> list[str]:
    """The names of the parameters that change what `run` returns, but that its gradient does not reach."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    with torch.enable_grad():
        before = run()
        found = _gradients(before, list(trained.values()))
    unreached = [name for name, gradient in zip(trained, found, strict=True) if isinstance(gradient, str)]
    return [name for name in unreached if _matters(trained[name], run, before)]


def _matters(parameter: nn.Parameter, run: Callable[[], Tensor], before: Tensor) -> bool:
    kept = parameter.clone()
    parameter.add_(torch.randn(parameter.shape))
    after = run()
    parameter.copy_(kept)
    return not torch.allclose(before, after, atol=1e-5)


def cuts_off_the_gradient(labels: list[str]) -> Mistake:
    """The mistake of not letting the gradient through."""
    return Mistake(
        "the result is cut off from the gradient, entirely or in part",
        symptom="the numbers are right and nothing is said, but what comes before this function does not learn",
        why="`.detach()`, `.data`, `.item()`, `.numpy()`, torch.tensor(...) and torch.no_grad() drop the way back.",
        hint="Print `requires_grad` of each intermediate result: at which line does it become False?",
    )

"""What right numbers do not show: a call that writes into its arguments, a result that is cut off from the gradient."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.book.exercises.checks.engine.trial import Mistake, Trial

AFTERWARDS = ", after the call"
NOT_FINITE = "NaN or infinite"
Observe = Callable[[Any, dict[str, Any]], Any]


# ------------------------------------------------------------------ inputs


def inputs_of(trial: Trial) -> Trial:
    """The trial's call, of which only the lists, dictionaries and tensors that were handed over are looked at."""

    def observe(candidate: Any, given: dict[str, Any]) -> dict[str, Any]:
        with suppress(Exception):  # the trial itself tells of it
            trial.observe(candidate, given)
        kept = {name: value for name, value in given.items() if isinstance(value, Tensor | list | dict)}
        return {f"{name}{AFTERWARDS}": value for name, value in kept.items()}

    return replace(trial, observe=observe, tolerance=0.0)


def changes_its_input(found: dict[str, Any]) -> Mistake:
    """The mistake of writing into these arguments."""
    names = ", ".join(label.removesuffix(AFTERWARDS) for label in found)
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

    Whoever returns a list or an array does not compute with torch, and is judged by the numbers alone. They are
    compared a little off the round numbers of the example, where an absolute value or a maximum could have a corner;
    on these numbers, they have to be finite.
    """

    def observe(candidate: Any, given: dict[str, Any]) -> dict[str, Any]:
        here = {name: given[name].clone() for name in names if name in given}
        beside = {name: value + 0.01 * torch.randn(value.shape).to(value.dtype) for name, value in here.items()}
        labels = [f"gradient of {name}" for name in here]
        if not here or _tensor(call(candidate, given | {name: leaf.clone() for name, leaf in beside.items()})) is None:
            return dict.fromkeys(labels)
        exact, compared = (_gradients_at(values, candidate, given, call) for values in (here, beside))
        pairs = zip(exact, compared, strict=True)
        return dict(zip(labels, (a if _is(a, NOT_FINITE) else b for a, b in pairs), strict=True))

    return observe


def _gradients_at(values: dict[str, Tensor], candidate: Any, given: dict[str, Any], call: Observe) -> list[Any]:
    leaves = {name: value.requires_grad_() for name, value in values.items()}
    answer = _tensor(call(candidate, given | {name: leaf.clone() for name, leaf in leaves.items()}))
    return gradients(answer, list(leaves.values()))


def _tensor(answer: Any) -> Tensor | None:
    """The answer, or the first part of a pair such as (output, weights); None if it is no tensor."""
    first = answer[0] if isinstance(answer, tuple | list) and answer else answer
    return first if isinstance(first, Tensor) else None


def gradients(answer: Tensor | None, leaves: list[Tensor]) -> list[Any]:
    """Of a sum of the answer's entries with weights, since the plain sum of a softmax is always 1."""
    if answer is None or not answer.requires_grad:
        return ["none"] * len(leaves)
    seeded = torch.Generator("cpu").manual_seed(0)
    weights = torch.randn(answer.shape, generator=seeded, dtype=torch.float32, device="cpu").to(answer.dtype)
    try:
        found = torch.autograd.grad((answer * weights).sum(), leaves, allow_unused=True)
    except RuntimeError:  # torch itself says so in training, and says why
        return [None] * len(leaves)
    dense = [g if g is None else g.to_dense() for g in found]
    return ["none" if g is None else g if g.isfinite().all() else NOT_FINITE for g in dense]


@torch.no_grad()
def forgotten_parameters(model: nn.Module, run: Callable[[], Tensor]) -> list[str]:
    """The names of the parameters that change what `run` returns, but that its gradient does not reach."""
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    with torch.enable_grad():
        before = run()
        found = gradients(before, list(trained.values()))
    unreached = [name for name, gradient in zip(trained, found, strict=True) if _is(gradient, "none")]
    return [name for name in unreached if _matters(trained[name], run, before)]


def _matters(parameter: nn.Parameter, run: Callable[[], Tensor], before: Tensor) -> bool:
    kept = parameter.clone()
    parameter.add_(torch.randn(parameter.shape))
    after = run()
    parameter.copy_(kept)
    return not torch.allclose(before, after, atol=1e-5)


def _is(gradient: Any, word: str) -> bool:
    return isinstance(gradient, str) and gradient == word


def spoils_the_gradient(found: dict[str, Any]) -> Mistake:
    """The mistake of not letting the gradient through, or of letting a NaN through in its place."""
    if any(_is(gradient, NOT_FINITE) for gradient in found.values()):
        return Mistake(
            "the result is a number and its gradient is NaN or infinite",
            symptom="a loss that looks right; after the next step every weight is NaN, and so is the loss",
            why="0 · NaN is NaN: nan_to_num, where or a mask hides a NaN on the way forward, and not on the way back.",
            hint="Which line makes a NaN or an infinity that a later one hides? Keep it from being made at all.",
        )
    return Mistake(
        "the result is cut off from the gradient, entirely or in part",
        symptom="the numbers are right and nothing is said, but what comes before this function does not learn",
        why="`.detach()`, `.data`, `.item()`, `.numpy()`, torch.tensor(...) and torch.no_grad() drop the way back.",
        hint="Print `requires_grad` of each intermediate result: at which line does it become False?",
    )

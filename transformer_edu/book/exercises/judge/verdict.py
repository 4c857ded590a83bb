"""What the observations say: right, or which mistake; formed from plain tensors, away from the code that is judged."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.experiment import (
    BOOLEAN,
    FIXED,
    LEFT_BEHIND,
    PASSES,
    UNASKED,
    Experiment,
    Masked,
    Seen,
    copies,
    in_words,
)
from transformer_edu.book.exercises.judge.kind import OTHER, Function, Kind, Parameters
from transformer_edu.book.exercises.judge.mistakes import named
from transformer_edu.book.exercises.judge.weights import NotFound, inner_width

REFUSED = "ValueError", "AssertionError", "NotImplementedError"  # errors by which code says what it does not take
CHANCE = "two calls on the same input differ: dropout or chance plays a part where none should"


@dataclass(frozen=True)
class Verdict:
    """`fault` is None where the component is right; `where` is the experiment that shows it."""

    kind: str
    fault: Mistake | None = None
    known: bool = True
    where: str = ""
    detail: str = ""
    remarks: tuple[str, ...] = ()
    passed: int = 0

    @property
    def right(self) -> bool:
        """Whether nothing but remarks was found."""
        return self.fault is None


class Unreadable(Exception):  # noqa: N818 (a finding)
    """What a component has learned cannot be read, so that nothing can be said; the text says why."""


def answer_of(kind: Kind, fn: Function, index: int) -> Tensor | str:
    """What a function answers in one experiment of its kind, or its error in words."""
    experiment = kind.experiments[index]
    inputs = tuple(copies(tuple(one.mask if isinstance(one, Masked) else one for one in experiment.inputs)))
    if kind.may_be_function:
        inputs = (*inputs, *experiment.options.get("learned", ()))
    try:
        result = fn(*inputs)
    except Exception as error:
        return in_words(error)
    first = result[0] if isinstance(result, tuple | list) else result
    return first.detach() if isinstance(first, Tensor) else torch.tensor(float(first))


def same(expected: Any, got: Any, tolerance: float) -> bool:
    """Two answers: tensors of one shape with the same numbers up to rounding; two errors of one kind."""
    if isinstance(expected, str) or isinstance(got, str) or got is None:
        return isinstance(expected, str) and isinstance(got, str) and expected.split(":")[0] == got.split(":")[0]
    if expected.shape != got.shape or expected.is_complex() or got.is_complex():
        return False
    scale = float(expected.double().nan_to_num(0, 0, 0).abs().max()) if expected.numel() else 1.0
    return torch.allclose(
        got.double(), expected.double(), rtol=tolerance, atol=tolerance / 10 * max(scale, 1e-3), equal_nan=True
    )


def judge(kind: Kind, runs: dict[str, tuple[list[Seen], Parameters]]) -> Verdict:
    """The best that can be said of a component, over all the conventions in which it was handed its masks."""
    best: Verdict | None = None
    for convention, (seen, parameters) in runs.items():
        if convention.endswith(OTHER):
            continue
        verdict, hopeless = _judge(kind, seen, parameters)
        if verdict.right:
            return _also(kind, runs, convention, verdict)
        if best is None or (verdict.passed > best.passed and verdict.known >= best.known):
            best = verdict
        if hopeless:
            break
    assert best is not None
    return best


def _also(kind: Kind, runs: dict[str, tuple[list[Seen], Parameters]], convention: str, right: Verdict) -> Verdict:
    """What is right with masks in one convention, looked at with boolean ones, and at other sizes."""
    fault = None if convention in BOOLEAN else _of_boolean_masks(kind, *runs[""])
    remarks = (*right.remarks, *([f"it takes {convention}"] if convention else []))
    passed = right.passed
    other = runs.get(convention + OTHER)
    if fault is None and kind.elsewhere is not None and other is not None:
        told = str(other[0][0].get("error", ""))
        if told.startswith(REFUSED):
            remarks = (*remarks, f"other sizes are refused: {told}")
        elif told:
            fault = _verdict(kind.elsewhere, FIXED, kind.elsewhere.experiments[0], told, True, passed)
        else:
            fault, more = _at_other_sizes(kind.elsewhere, *other)
            passed += more
    return Verdict(kind.name, remarks=remarks, passed=passed) if fault is None else replace(fault, remarks=remarks)


def _at_other_sizes(kind: Kind, seen: list[Seen], parameters: Parameters) -> tuple[Verdict | None, int]:
    """The fault that shows at other sizes only, and in how many experiments there is none."""
    try:
        there, _ = _judge(kind, seen, parameters)
    except Unreadable:
        return None, 0
    if there.fault is None or there.known:
        return (there if there.fault else None), there.passed
    return replace(there, fault=beyond(FIXED), known=True), there.passed


def _of_boolean_masks(kind: Kind, seen: list[Seen], parameters: Parameters) -> Verdict | None:
    """The fault of a component that is right with masks of numbers, and lets boolean ones go astray."""
    parameters = replace(parameters, sizes=_sizes(kind, parameters))
    got = _answers(seen)
    plain = _compared(kind, seen)
    best = _best_right(kind, got, plain, parameters)
    if best is None or not best[2]:
        return None
    name = _name_of_mask(kind, best[1], got, plain)
    first = best[2][0]
    passed = len(plain) - len(best[2])
    return (
        _verdict(kind, f"{name} (boolean ones, not those of numbers)", kind.experiments[first], "", True, passed)
        if (name)
        else None
    )


SIZES = "d_ff", "num_layers"  # those that can be read from parameters where a component has sizes of its own


def _sizes(kind: Kind, parameters: Parameters) -> dict[str, Any]:
    """The sizes at which a component was made: those it was given, and those it has of its own."""
    sizes = dict(kind.options)
    if "d_ff" in sizes and "d_ff" in parameters.untaken:
        others = {value for name, value in sizes.items() if name not in SIZES and isinstance(value, int)}
        sizes["d_ff"] = inner_width(parameters.named, sizes["d_model"], others) or sizes["d_ff"]
    if "num_layers" in parameters.untaken:
        del sizes["num_layers"]
    return sizes


def _answers(seen: list[Seen]) -> list[Any]:
    return [one.get("output", one.get("error")) for one in seen]


def _compared(kind: Kind, seen: list[Seen]) -> list[int]:
    """The experiments whose numbers are compared with what is right and what is known."""
    pairs = enumerate(zip(kind.experiments, seen, strict=True))
    return [i for i, (one, found) in pairs if one.how == "plain" and not one.remark and "not asked" not in found]


def _judge(kind: Kind, seen: list[Seen], parameters: Parameters) -> tuple[Verdict, bool]:  # noqa: C901
    """The verdict on one run, and whether masks of another convention cannot make it better."""
    parameters = replace(parameters, sizes=_sizes(kind, parameters))
    got, plain = _answers(seen), _compared(kind, seen)
    failure: str | None = None
    learned = sum(one.numel() for one in parameters.named.values())
    start = seen[0]
    fixed = [name for name in parameters.untaken if name in (*SIZES, "d_model", "num_heads")]
    own = f"; it takes no {' and no '.join(fixed)}" if fixed else ""
    if parameters.loose and kind.learns:
        return Verdict(kind.name, beyond("what should be learned is a plain tensor, no parameter")), True
    if parameters.buffers and not parameters.named and kind.learns:
        return Verdict(kind.name, beyond("what should be learned is a buffer, no parameter")), True
    if parameters.named and kind.learns_nothing:
        return Verdict(kind.name, beyond("its table is a parameter, which training would change")), True
    if "again" in start and not same(start["output"], start["again"], kind.experiments[0].tolerance):
        name = "a second call gives another answer" if _settles(seen) else CHANCE
        return Verdict(kind.name, beyond(name), True, kind.experiments[0].title), True
    try:
        best = _best_right(kind, got, plain, parameters)
    except NotFound as problem:
        best, failure = None, str(problem)
        if own or kind.least <= learned <= 1.35 * kind.least != 0:
            raise Unreadable(f"its parameters cannot be told apart ({failure}){own}") from None
    unmasked = [i for i in plain if not kind.experiments[i].masks]
    hopeless = best is None or any(i in unmasked for i in best[2])
    if "num_heads" in fixed and (best is None or best[2]):
        raise Unreadable("it takes no num_heads, so that nobody can tell how many there are")
    if best is None or best[2]:
        right_in = len(plain) - len(best[2]) if best else 0
        found = _known_mistake(kind, got, plain, parameters, right_in)
        if found is not None:
            mistake, first = found
            return Verdict(kind.name, mistake, True, kind.experiments[first].title, _said(got[first])), hopeless
    if best is None:
        mistake = _unknown(failure or "", got, kind)
        shown = next((i for i in plain if isinstance(got[i], str)), plain[0])
        told = _said(got[shown])
        return Verdict(kind.name, mistake, bool(failure), kind.experiments[shown].title, told), hopeless
    remark, right, wrong = best
    if wrong:
        return _not_everywhere(kind, right, got, plain, wrong), hopeless
    remarks = [remark] if remark else []
    for index, experiment in enumerate(kind.experiments):
        if "not asked" in seen[index]:
            continue
        if _does_not_fit(experiment, seen[index]):
            remarks.append("in float16 it stops: −1e9 does not fit, torch.finfo(scores.dtype).min does")
        if "dropped weights" in seen[index]:
            remarks.append("in training it returns the weights after dropout: a row of them does not sum to one")
        if experiment.how == "dropout" and UNASKED in seen[index]:
            remarks += [UNASKED] if UNASKED not in remarks else []
        fault = _beyond_numbers(kind, experiment, seen[index], right, index)
        if fault is None:
            continue
        if experiment.remark and "NaN" not in fault.name:
            remarks.append(fault.name)
        else:
            told = _said(got[index])
            return Verdict(kind.name, fault, True, experiment.title, told, tuple(remarks), len(plain)), False
    return Verdict(kind.name, remarks=tuple(remarks), passed=len(seen)), True


def _does_not_fit(experiment: Experiment, seen: Seen) -> bool:
    """Whether a number is too large for half precision, and PyTorch says so."""
    return experiment.how == "half" and "without overflow" in str(seen.get("error"))


def _settles(seen: list[Seen]) -> bool:
    """Whether the second call differs in some experiments only: it is no matter of chance."""
    return any("again" in one and same(one["output"], one["again"], 1e-3) for one in seen)


def _best_right(
    kind: Kind, got: list[Any], plain: list[int], parameters: Parameters
) -> tuple[str, Function, list[int]] | None:
    """The right function that agrees in most experiments, and those in which it does not; None if it never does."""
    best: tuple[str, Function, list[int]] | None = None
    for remark, fn in kind.rights(parameters):
        if not same(answer_of(kind, fn, plain[0]), got[plain[0]], kind.experiments[plain[0]].tolerance):
            if best is not None or len(plain) == 1:
                continue
            second = plain[1]
            if not same(answer_of(kind, fn, second), got[second], kind.experiments[second].tolerance):
                continue
        wrong = [i for i in plain if not same(answer_of(kind, fn, i), got[i], kind.experiments[i].tolerance)]
        if best is None or len(wrong) < len(best[2]):
            best = remark, fn, wrong
        if not wrong:
            return best
    return best


def _known_mistake(
    kind: Kind, got: list[Any], plain: list[int], parameters: Parameters, right_in: int
) -> tuple[Mistake, int] | None:
    """The known mistake that gives the same answers in all experiments, or in more than what is right does."""
    best: tuple[Mistake, int] | None = None
    most = 0
    try:
        for mistake, fn in kind.wrongs(parameters):
            count = 0
            for i in plain:
                if same(answer_of(kind, fn, i), got[i], kind.experiments[i].tolerance):
                    count += 1
                elif count == 0 and i != plain[0]:
                    break
            if count > most:
                best, most = (mistake, plain[0]), count
            if count == len(plain):
                break
    except NotFound:
        return None
    if best is None or (most < len(plain) and most <= max(1, right_in, (len(plain) - 1) // 2)):
        return None
    stopped = [i for i in plain if isinstance(got[i], str)]
    return best[0], stopped[0] if stopped else plain[0]


def _unknown(failure: str, got: list[Any], kind: Kind) -> Mistake:
    if failure:
        return named(
            f"its parameters are not what a {kind.name.replace('_', ' ')} has: {failure}",
            "Parameters that are kept in a list, or as plain tensors, are not registered: training does not see them.",
            "Print [name for name, _ in module.named_parameters()]. What is missing?",
            "training does not change what it should",
        )
    if all(isinstance(one, str) for one in got):
        return named(
            "it stops with an error",
            f"it was called as: {kind.is_called}.",
            "Call it so yourself, or hand over an adapter.",
            "no answer",
        )
    return named(
        "it gives other numbers than it should, by none of the known mistakes",
        "none of the known mistakes gives these answers.",
        "Work the smallest experiment through by hand, step by step: where does yours first differ?",
        "wrong answers",
    )


MASKED = "the mask has not the effect that it should have"
SQUEEZED = "a dimension of size one is lost: squeeze() takes the batch away where it holds one sentence"
MASKS: dict[str, Callable[[Tensor, int], Tensor]] = {  # of the mask (batch, 1, q_len, k_len) and the number of heads
    "masks are ignored": lambda mask, heads: torch.ones_like(mask),
    "every sentence is masked as the first one": lambda mask, heads: mask[:1].expand_as(mask),
    "every query is masked as the first one": lambda mask, heads: mask[..., :1, :].expand_as(mask),
    "masks and heads go out of step: repeat() where repeat_interleave() is meant": lambda mask, heads: (
        mask[:, :1].repeat(heads, 1, 1, 1).reshape(mask.shape[0], heads, *mask.shape[2:])
    ),
}


def _with_masks(kind: Kind, fn: Function, index: int, change: Callable[[Tensor, int], Tensor]) -> Tensor | str:
    """What a function answers in one experiment if its masks are changed so."""
    experiment = kind.experiments[index]
    heads = experiment.options.get("num_heads", kind.options.get("num_heads", 1))
    inputs = tuple(Masked(change(one.mask, heads)) if isinstance(one, Masked) else one for one in experiment.inputs)
    changed = replace(kind, experiments=[replace(experiment, inputs=inputs)])
    return answer_of(changed, fn, 0)


def _name_of_mask(kind: Kind, right: Function, got: list[Any], plain: list[int]) -> str:
    """Which change of all masks explains all answers; "" if none does."""
    masked = [i for i in plain if kind.experiments[i].masks]
    for name, change in MASKS.items():
        if all(same(_with_masks(kind, right, i, change), got[i], kind.experiments[i].tolerance) for i in masked):
            return name
    return ""


def _is_squeezed(expected: Tensor | str, got: Any, tolerance: float) -> bool:
    """Whether the right numbers come without their dimensions of size one."""
    if not isinstance(expected, Tensor) or not isinstance(got, Tensor) or expected.shape == got.shape:
        return False
    return same(expected.squeeze(), got.squeeze(), tolerance)


def _not_everywhere(kind: Kind, right: Function, got: list[Any], plain: list[int], wrong: list[int]) -> Verdict:
    """Right in some experiments: what those have in common in which it is not says what is wrong."""
    first = wrong[0]
    experiment = kind.experiments[first]
    alone = {kind.experiments[i].alone for i in wrong}
    detail = _said(got[first])
    if None not in alone:
        name = str(experiment.alone)
        return _verdict(kind, name, experiment, detail, True, len(plain) - len(wrong))
    squeezed = all(_is_squeezed(answer_of(kind, right, i), got[i], kind.experiments[i].tolerance) for i in wrong)
    if squeezed:
        return _verdict(kind, SQUEEZED, experiment, detail, True, len(plain) - len(wrong))
    with_mask = [i for i in plain if any(isinstance(one, Masked) for one in kind.experiments[i].inputs)]
    if set(wrong) <= set(with_mask):
        output = got[first]
        if isinstance(output, Tensor) and not output.isfinite().all():
            return _verdict(kind, "a mask makes NaN", experiment, detail, True, len(plain) - len(wrong))
        name = _name_of_mask(kind, right, got, plain)
        return _verdict(kind, name or MASKED, experiment, detail, bool(name), len(plain) - len(wrong))
    title = experiment.title
    return _verdict(kind, f"it is wrong for {title}", experiment, detail, False, len(plain) - len(wrong))


def _verdict(kind: Kind, name: str, experiment: Experiment, detail: str, known: bool, passed: int) -> Verdict:
    return Verdict(kind.name, beyond(name), known, experiment.title, detail, passed=passed)


def beyond(name: str) -> Mistake:
    """A fault that numbers alone do not show, by its name."""
    why, hint = EXPLAINED.get(name, ("What stands above is what was seen.", "Try the experiment that is named above."))
    return named(name, why, hint, "other answers in this case, and nowhere else")


ELSEWHERE = "dropout stands at another place than in the paper"
EXPLAINED = {
    FIXED: (
        "it was tried at two sizes. At one of them a formula that should read d_model, the number of heads or d_head "
        "happens to give the right number.",
        "Which numbers of your code stand there as digits, and which size does each of the others come from?",
    ),
    ELSEWHERE: (
        "the paper drops what a sub-layer hands over, before it is added to x, and the sum of embedding and position "
        "(section 5.4). Here something changes although what should be dropped is zero.",
        "Which tensor goes into your dropout?",
    ),
    "what is returned beside the output are not the weights": (
        "weights are what comes out of the softmax: they are positive and sum to one over the keys.",
        "Which variable do you return beside the output?",
    ),
    "what should be learned is a plain tensor, no parameter": (
        "only an nn.Parameter is trained, saved, and moved to another device.",
        "Print [name for name, _ in module.named_parameters()]. What is missing?",
    ),
    "what should be learned is a buffer, no parameter": (
        "a buffer is saved and moved with the module, and no optimizer changes it.",
        "Print [name for name, _ in module.named_parameters()]. What is missing?",
    ),
    "its table is a parameter, which training would change": (
        "positions are computed, not learned: the table is a buffer (register_buffer), which no optimizer sees.",
        "Print [name for name, _ in module.named_parameters()].",
    ),
    LEFT_BEHIND: (
        "`.to(device)` moves parameters and buffers. A plain attribute stays where it was made, and so does what "
        "forward makes without device=x.device.",
        "Which tensors does your forward use that are neither parameters, nor buffers, nor made on x's device?",
    ),
    CHANCE: (
        "F.dropout drops unless it is told not to: its `training` argument defaults to True.",
        "What tells your dropout to stay off?",
    ),
    "an input is changed in place": (
        "`+=`, names that end in `_`, or an assigned slice write into the caller's tensor.",
        "Which line writes into an argument?",
    ),
    "a second call gives another answer": (
        "something stays behind from the first call, or chance plays a part where it should not.",
        "What does your object keep between two calls?",
    ),
    "nothing of the gradient comes through": (
        "`.detach()`, `.data`, `.item()`, `.numpy()`, torch.tensor(...) and torch.no_grad() drop the way back.",
        "Print requires_grad of each intermediate result: at which line does it become False?",
    ),
    "a part of the gradient is cut off": (
        "`.detach()`, `.data`, torch.no_grad() or a copy drop a part of the way back.",
        "Which intermediate result is detached?",
    ),
    "the gradient is NaN although the answer is right": (
        "where() and masked_fill() hide a NaN in the answer; the gradient of what they hide is NaN all the same.",
        "Does something divide by zero, or take the root or logarithm of zero, before it is masked?",
    ),
    "dropout is active in eval mode": (
        "F.dropout drops unless it is told not to: its `training` argument defaults to True.",
        "What tells your dropout that the model is in eval mode?",
    ),
    "dropout does nothing in training": (
        "the argument is taken and not used, or the layer is made and never called.",
        "Where in forward does dropout stand?",
    ),
    "dropout changes the size of what it keeps": (
        "what is kept is divided by 1 − p in training, so that nothing needs to change in evaluation.",
        "With p = 0.5, by what is a kept number multiplied?",
    ),
}


def _beyond_numbers(  # noqa: C901
    kind: Kind, experiment: Experiment, seen: Seen, right: Function, index: int
) -> Mistake | None:
    """State, gradients, modes and precision."""
    if experiment.how == "dropout":
        return _dropout(kind, experiment, seen, answer_of(kind, right, index)) if seen else None
    if experiment.how == "moved":
        return beyond(LEFT_BEHIND) if "left behind" in seen else None
    if experiment.how == "training" and UNASKED in seen and not same(seen["output"], seen["again"], 1e-4):
        return None  # its dropout is written into the class
    if "error" in seen:
        if experiment.how == "half" and "not implemented for" in str(seen["error"]):
            return None
        if _does_not_fit(experiment, seen):
            return None  # a remark: whoever computes in half precision by autocast never meets it
        name = experiment.alone if experiment.alone else f"it stops with an error: {seen['error']}"
        return beyond(str(name))
    expected = answer_of(kind, right, index)
    if not same(expected, seen["output"].float() if isinstance(seen["output"], Tensor) else "", experiment.tolerance):
        return beyond(experiment.alone or f"it is wrong for this: {experiment.title}")
    if any(name.startswith("changed") for name in seen):
        return beyond("an input is changed in place")
    if "again" in seen and not same(seen["output"], seen["again"], experiment.tolerance):
        return beyond("a second call gives another answer")
    second = seen.get("second")
    if isinstance(second, Tensor) and experiment.how == "plain" and kind.name == "attention":
        weights = _second(right, experiment)
        if second.shape == weights.shape and not same(weights, second, experiment.tolerance):
            return beyond("what is returned beside the output are not the weights")
    return _gradient(kind, experiment, seen, right)


def _second(right: Function, experiment: Experiment) -> Tensor:
    """The weights: what a value of one-hot rows gives."""
    query, key = experiment.inputs[:2]
    one_hot = torch.eye(key.shape[-2]).expand(*key.shape[:-1], key.shape[-2])
    mask = [one.mask for one in experiment.inputs if isinstance(one, Masked)]
    answer: Tensor = right(query, key, one_hot, *mask)
    return answer


def _gradient(kind: Kind, experiment: Experiment, seen: Seen, right: Function) -> Mistake | None:  # noqa: C901
    if "no way back" in seen:
        return beyond("its gradient cannot be computed: something is changed in place that the way back needs")
    if "cut" in seen:
        return beyond("nothing of the gradient comes through")
    places = [int(name.split()[1]) for name in seen if name.startswith("gradient ")]
    if any(name.startswith("NaN gradient") for name in seen) or any(
        not _tensor(seen[f"gradient {place}"]).isfinite().all() for place in places
    ):
        return beyond("the gradient is NaN although the answer is right")
    if any(name.startswith("without gradient") for name in seen):
        return beyond("a part of the gradient is cut off")
    if not places or experiment.alone:
        return None
    inputs = [one.mask if isinstance(one, Masked) else one for one in experiment.inputs]
    if kind.may_be_function:
        inputs += list(experiment.options.get("learned", ()))[: max(places)]
    leaves = {place: inputs[place].clone().requires_grad_() for place in places}
    result = right(*[leaves.get(i, one) for i, one in enumerate(inputs)])
    output = result[0] if isinstance(result, tuple) else result
    if not output.requires_grad:
        return None
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    wanted = torch.autograd.grad((output * weights).sum(), list(leaves.values()), allow_unused=True)
    for place, expected in zip(leaves, wanted, strict=True):
        if expected is None or not expected.isfinite().all():
            continue
        if not same(expected, _tensor(seen[f"gradient {place}"]), 3e-2):
            return beyond("a part of the gradient is cut off")
    return None


def _tensor(value: Tensor | str) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _dropout(kind: Kind, experiment: Experiment, seen: Seen, expected: Tensor | str) -> Mistake | None:
    if "error" in seen:
        return beyond(f"with dropout it stops with an error: {seen['error']}")
    output, again = _tensor(seen["output"]), _tensor(seen["again"])
    is_right = "empty" in experiment.options or same(expected, output, experiment.tolerance)
    if not is_right or not same(output, again, 1e-4):
        return beyond("dropout is active in eval mode")
    if experiment.options.get("still"):
        return beyond(ELSEWHERE) if float(_tensor(seen["spread"]).max()) > 1e-6 else None
    if float(_tensor(seen["spread"]).max()) < 1e-6:
        used = "dropout" in kind.options and UNASKED not in seen
        return beyond("dropout does nothing in training") if used else None
    if kind.unbiased:
        error = _tensor(seen["spread"]) / PASSES**0.5
        far = (_tensor(seen["mean"]) - output.double()).abs() > 6 * error + 0.02 * output.double().abs() + 1e-3
        if float(far.float().mean()) > 0.02:
            return beyond("dropout changes the size of what it keeps")
    return None


def _said(got: Any) -> str:
    if isinstance(got, str):
        return got
    if isinstance(got, Tensor) and not got.isfinite().all():
        return "the answer contains NaN or infinity"
    return ""

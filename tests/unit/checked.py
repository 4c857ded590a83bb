"""Checks by the name of their component, what they find, and code that is around a candidate."""

from itertools import chain

import pytest
from torch import Tensor, nn

from tests.broken_transformers import BROKEN
from transformer_edu import checks
from transformer_edu.book.exercises.checks import components as folder
from transformer_edu.book.exercises.judge.kinds import KINDS
from transformer_edu.book.exercises.judge.verdict import EXPLAINED

MODULES = {module.COMPONENT.name: module for module in vars(folder).values() if hasattr(module, "COMPONENT")}
COMPONENTS = {name: MODULES[name].COMPONENT for name in checks.component_names()}
OWN = {name: component.reference for name, component in COMPONENTS.items()}
CHECKS = {
    name: [fn for fn in vars(checks).values() if callable(fn) and fn.__module__ == MODULES[name].__name__]
    for name in COMPONENTS
}


def run(component, candidate):
    """Hand a candidate to the public check of a component; of two functions that belong together, the pair."""
    [check] = CHECKS[component]
    check(*candidate) if isinstance(candidate, tuple) else check(candidate)


def failure(component, candidate):
    """What the check raises."""
    with pytest.raises(checks.CheckFailed) as caught:
        run(component, candidate)
    return caught.value


def told(error):
    """What a failure says, however its lines are wrapped."""
    return " ".join(str(error).split())


def diagnosis(component, candidate):
    """The name of the mistake that the check finds."""
    found = failure(component, candidate)
    assert found.mistake is not None, str(found)
    return found.mistake.name


def wrong(component, start):
    """The code of the known mistake whose name begins like this."""
    known = {mistake.name: mistake.wrong for mistake in checks.catalogue(component)} if component in COMPONENTS else {}
    known |= {name: model for name, (_, model) in BROKEN.items()} if component == "transformer" else {}
    [found] = [code for name, code in known.items() if name.startswith(start)]
    return found


def names(module):
    """The mistakes that the check of a module knows; of one that asks the judge, all of his, too."""
    if hasattr(module, "COMPONENT"):
        return [mistake.name for mistake in module.COMPONENT.mistakes]
    kept = [list(value.values()) if isinstance(value, dict) else [value] for value in vars(module).values()]
    own = [value for some in kept for value in some if isinstance(value, checks.Mistake)]
    return [*EXPLAINED, *(mistake.name for mistake in chain(own, *(kind.mistakes for kind in KINDS.values())))]


def around(own, before=lambda given: given, after=lambda given, result: result):
    """`own`, called with `before(given)`, answering `after(given, result)`; a module, when it is made and when called.

    Of two functions that belong together, both.
    """
    if isinstance(own, tuple):
        return tuple(around(part, before, after) for part in own)

    def wrapped(*given, **named):
        given = before(given)
        result = after(given, own(*given, **named))
        if isinstance(result, nn.Module):
            result.forward = around(result.forward, before, after)  # type: ignore[method-assign]
        return result

    return wrapped


def each_tensor(change, value):
    """The value with `change` applied to each of its tensors."""
    if isinstance(value, tuple | list):
        return type(value)(each_tensor(change, part) for part in value)
    return change(value) if isinstance(value, Tensor) else value

"""Checks by the name of their component, what they find, and tests that a table of candidates makes."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from transformer_edu import checks
from transformer_edu.checks import components as folder

MODULES = {module.COMPONENT.name: module for module in vars(folder).values() if isinstance(module, ModuleType)}
COMPONENTS = {name: MODULES[name].COMPONENT for name in checks.component_names()}
CHECKS = {
    name: [fn for fn in vars(checks).values() if callable(fn) and fn.__module__ == MODULES[name].__name__]
    for name in COMPONENTS
}


def run(component: str, candidate: Any) -> None:
    """Hand a candidate to the public check of a component; of two functions that belong together, the pair."""
    [check] = CHECKS[component]
    check(*candidate) if isinstance(candidate, tuple) else check(candidate)


def failure(component: str, candidate: Any) -> checks.CheckFailed:
    """What the check raises."""
    with pytest.raises(checks.CheckFailed) as caught:
        run(component, candidate)
    return caught.value


def diagnosis(component: str, candidate: Any) -> str:
    """The name of the mistake that the check finds."""
    found = failure(component, candidate)
    assert found.mistake is not None, str(found)
    return found.mistake.name


def wrong(component: str, start: str) -> Any:
    """The code of the known mistake whose name begins like this."""
    [found] = [mistake.wrong for mistake in checks.catalogue(component) if mistake.name.startswith(start)]
    return found


def accepts(right: dict[str, list[Any]]) -> Callable[..., None]:
    """A test that right candidates pass: component -> some that look different from the package's own."""
    cases = [(component, candidate) for component, some in right.items() for candidate in some]

    @pytest.mark.parametrize(("component", "candidate"), cases)
    def test(component: str, candidate: Any) -> None:
        run(component, candidate)

    return test


def names(mistakes: dict[str, dict[str, Any]]) -> Callable[..., None]:
    """A test that code which readers really write gets its diagnosis: component -> start of the name -> candidate."""
    cases = [(component, *item) for component, some in mistakes.items() for item in some.items()]

    @pytest.mark.parametrize(("component", "name", "candidate"), cases)
    def test(component: str, name: str, candidate: Any) -> None:
        assert diagnosis(component, candidate).startswith(name)

    return test


def refuses(answers: dict[str, list[tuple[Any, str]]]) -> Callable[..., None]:
    """A test that an answer of the wrong kind is named: component -> what is returned, and words of the message."""
    cases = [(component, *case) for component, some in answers.items() for case in some]

    @pytest.mark.parametrize(("component", "answer", "words"), cases)
    def test(component: str, answer: Any, words: str) -> None:
        found = failure(component, lambda *given, **named: answer)
        assert words in str(found)
        assert found.mistake is None

    return test

"""Which trial of a check tells which known mistake: `pytest tests/unit/test_checks_matrix.py -s` prints the matrix."""

import pytest

from tests.unit.checked import COMPONENTS
from transformer_edu.book.exercises.checks.engine.compare import agree
from transformer_edu.book.exercises.checks.engine.laboratory import laboratory
from transformer_edu.book.exercises.checks.engine.trial import observe

pytestmark = [pytest.mark.usefixtures("as_readers_run_it"), pytest.mark.weekly]
WIDTH = 78


def told(component):
    """For each known mistake, which trials tell it from the reference, and whether a look at side effects does."""
    rows = {}
    with laboratory():
        right = [observe(trial, component.reference) for trial in component.trials]
        for mistake in component.mistakes:
            wrong = [observe(trial, mistake.wrong) for trial in component.trials]
            seen = [
                not agree(*pair, trial.tolerance) for *pair, trial in zip(right, wrong, component.trials, strict=True)
            ]
            looks = any(
                not agree(observe(look, component.reference), observe(look, mistake.wrong), look.tolerance)
                for _, look, _ in component._looks()
            )
            rows[mistake.name] = [*seen, looks]
    return rows


def printed(component, rows):
    """A line for each mistake, a column for each trial, the last one for changed inputs and gradients."""
    lines = [f"\n{component.name}: {len(rows)} mistakes, {len(component.trials)} trials and side effects"]
    lines += [f"  {number}: {trial.title}" for number, trial in enumerate(component.trials, start=1)]
    lines += [f"  {name[:WIDTH]:{WIDTH}} {''.join('x' if hit else '.' for hit in row)}" for name, row in rows.items()]
    return "\n".join(lines)


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_mistake_is_told_by_a_trial_and_every_trial_tells_a_mistake(name):
    component = COMPONENTS[name]
    rows = told(component)
    print(printed(component, rows))
    assert all(map(any, rows.values()))
    idle = [
        trial.title
        for trial, column in zip(component.trials, zip(*rows.values(), strict=True), strict=False)
        if not any(column)
    ]
    assert not idle

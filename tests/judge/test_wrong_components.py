"""Wrong components by people who had not seen the catalogue, with one fault each: most are found, most by name.

What the judge does not see yet, or sees without a name, stands in `gaps.json`: the list may only become shorter. What
is "remarked" there is right in another convention (`test_conventions.py`), and told so; of what is "undecided" the
judge says that nothing is sure.
"""

import pytest

from tests.judge.reading import GAPS, PARTS, WRONG, gaps, verdict, wrong_text

FOUND, NAMED = 0.97, 0.94
pytestmark = pytest.mark.usefixtures("at_readers_speed")  # types are checked with the right components


@pytest.mark.parametrize(("kind", "some"), PARTS)
def test_wrong_components_are_found_and_named(kind, some, tmp_path):
    names = [name for name in WRONG if name.startswith(f"{kind}__")][some]
    verdicts = {name: verdict(tmp_path, name, wrong_text(name)) for name in names}
    right = {name for name, outcome in verdicts.items() if outcome and outcome.right}
    undecided = {name for name, outcome in verdicts.items() if outcome is None}
    remarked = gaps("remarked", kind) & set(names)
    unnamed = {name for name, outcome in verdicts.items() if outcome and not outcome.right and not outcome.known}
    assert right == (gaps("missed", kind) | remarked) & set(names)
    assert all(verdicts[name].remarks for name in remarked)
    assert undecided == gaps("undecided", kind) & set(names)
    assert unnamed == gaps("unnamed", kind) & set(names)


def test_most_are_found_and_most_are_named():
    found = len(WRONG) - len(GAPS["missed"]) - len(GAPS["remarked"]) - len(GAPS["undecided"])
    named = found - len(GAPS["unnamed"])
    assert len(WRONG) >= 350
    wrong = len(WRONG) - len(GAPS["remarked"])
    assert found / wrong >= FOUND
    assert named / wrong >= NAMED

"""Wrong components by people who had not seen the catalogue, with one fault each: most are found, most by name.

What the judge does not see yet, or sees without a name, stands in `gaps.json`: the list may only become shorter.
"""

import pytest

from tests.judge.reading import GAPS, PARTS, WRONG, gaps, verdict, wrong_text

FOUND, NAMED = 0.98, 0.95
pytestmark = pytest.mark.usefixtures("at_readers_speed")  # types are checked with the right components


@pytest.mark.parametrize(("kind", "some"), PARTS)
def test_wrong_components_are_found_and_named(kind, some, tmp_path):
    names = [name for name in WRONG if name.startswith(f"{kind}__")][some]
    verdicts = {name: verdict(tmp_path, name, wrong_text(name)) for name in names}
    missed = {name for name, one in verdicts.items() if one is None or one.right}
    unnamed = {name for name, one in verdicts.items() if one and not one.right and not one.known}
    assert missed == gaps("missed", kind) & set(names)
    assert unnamed == gaps("unnamed", kind) & set(names)


def test_most_are_found_and_most_are_named():
    found = len(WRONG) - len(GAPS["missed"])
    named = found - len(GAPS["unnamed"])
    assert len(WRONG) >= 350
    assert found / len(WRONG) >= FOUND
    assert named / len(WRONG) >= NAMED

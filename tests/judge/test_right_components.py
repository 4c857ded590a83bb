"""Right components by people who had not seen the catalogue, in styles of their own: none is called wrong."""

import pytest

from tests.judge.reading import COMPONENTS, PARTS, gaps, right_text, verdict


@pytest.mark.parametrize(("kind", "some"), PARTS)
def test_no_right_component_is_called_wrong(kind, some, tmp_path):
    paths = sorted((COMPONENTS / "right").glob(f"{kind}__*.py"))
    names = [path.stem for path in paths][some]
    verdicts = {name: verdict(tmp_path, name, right_text(name)) for name in names}
    assert len(paths) >= 3
    assert {name: one.fault.name for name, one in verdicts.items() if one and one.fault} == {}
    assert {name for name, one in verdicts.items() if one is None} == gaps("unreadable", kind) & set(names)

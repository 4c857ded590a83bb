"""Right components by people who had not seen the catalogue, in styles of their own: none is called wrong."""

import pytest

from tests.judge.reading import COMPONENTS, gaps, right_text, verdict
from transformer_edu.judge.kinds import KINDS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_right_component_is_called_wrong(kind, tmp_path):
    names = [path.stem for path in sorted((COMPONENTS / "right").glob(f"{kind}__*.py"))]
    verdicts = {name: verdict(tmp_path, name, right_text(name)) for name in names}
    assert len(verdicts) >= 3
    assert {name: one.fault.name for name, one in verdicts.items() if one and one.fault} == {}
    assert {name for name, one in verdicts.items() if one is None} == gaps("unreadable", kind)

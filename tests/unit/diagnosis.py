"""What a check says of a wrong submission."""

from collections.abc import Callable
from typing import Any

import pytest

from transformer_edu import checks


def diagnosis(check: Callable[[Any], None], candidate: Any) -> str:
    """The name of the mistake that the check finds."""
    with pytest.raises(checks.CheckFailed) as failure:
        check(candidate)
    assert failure.value.mistake is not None, str(failure.value)
    return failure.value.mistake.name

"""What the chapters' conftest.py adds to nbval: the rule of `agreement`, and no limit that a busy machine can reach."""

from typing import Any

import pytest
from agreement import settle
from nbval import plugin
from nbval.plugin import IPyNbCell
from normalize import clean

PATIENCE = 3600.0  # seconds; a cell that hangs must end some day, and nothing else is to be limited by time


def pytest_configure(config: pytest.Config) -> None:
    """Compare by the rule, and count no lines in kernels, which nbval would where the tests count theirs."""
    config.option.nbval_cell_timeout = PATIENCE
    config.option.nbval_kernel_startup_timeout = PATIENCE
    plugin.setup_coverage = plugin.teardown_coverage = lambda *_: None
    IPyNbCell.compare_outputs = _by_the_rule(IPyNbCell.compare_outputs)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Wait for a cell's last words longer than nbval's five seconds."""
    if isinstance(item, IPyNbCell):
        item.output_timeout = PATIENCE


def _by_the_rule(exact: Any) -> Any:
    def compare_outputs(self: Any, test: Any, ref: Any, skip_compare: Any = None) -> bool:
        for output in test:
            clean(output)
        settle(test, ref)
        return bool(exact(self, test, ref, skip_compare))

    return compare_outputs

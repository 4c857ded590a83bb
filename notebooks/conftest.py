"""`pytest --nbval notebooks`: run every chapter again and compare what it prints, by the rule of tools/agreement.py."""

from nbval_rule import pytest_configure, pytest_itemcollected

__all__ = ["pytest_configure", "pytest_itemcollected"]

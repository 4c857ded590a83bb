"""What a reader does with each figure and finds there: the SCENES of tests/unit/test_NAME.py, played in a browser.

A scene has a title and lines of `tests.browser.figure_page.play`; a dict before them holds the figure's arguments.
"""

from importlib import import_module

import pytest

from tests.browser.figure_page import play
from transformer_edu.book.figures import Figure

OWN = {name: import_module(f"tests.unit.test_{name.replace('-', '_')}") for name in sorted(Figure.registry)}
ALL = [(name, title) for name, own in OWN.items() for title in getattr(own, "SCENES", {})]


@pytest.mark.parametrize(("name", "title"), ALL)
def test_scene(name, title, show):
    first, *rest = OWN[name].SCENES[title]
    arguments, lines = (first, rest) if isinstance(first, dict) else ({}, [first, *rest])
    play(show(Figure.registry[name](**arguments)), *lines)

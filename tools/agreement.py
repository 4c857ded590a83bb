"""When does a fresh output of a chapter agree with the stored one?

Processors add up sums in different orders, so the last digit that is printed may differ by one. The rule, for printed
text, HTML and the state of a figure alike:

- Two numbers agree if they differ by at most one unit of their last printed place. A whole number is a count: it must
  be the same.
- In the state of a figure, which keeps more digits than a figure shows, they also agree if they differ by no more than
  a hundred-thousandth, or a 50,000th of the largest number of their table: zero and float32's noise are the same.
- The name of a bertviz view is made of its numbers' digits, and says nothing beyond them.
- Everything else must be the same, character by character; only the blanks beside a number that became longer or
  shorter (9.99 and 10.00 in a column) may make room for it.
- Pictures are compared when outputs are stored: pixel by pixel, to two of 255 steps.

What varies by more is no output to compare: it is asserted in the chapter, with a tolerance.
"""

import base64
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from nbformat import NotebookNode

from transformer_edu.book.figures.stills import without_stills

NUMBER = re.compile(r"(?<![\w.])[-−+]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?")
STATE = re.compile(r'(<script type="application/json">)(.*?)(?=</script>)', re.DOTALL)
OF_BERTVIZ = re.compile(r"(?<=\bbertviz-)[0-9a-f]{12}\b")
STEPS = 2  # of 255, that a pixel may be lighter or darker
NOISE = Decimal("2e-5")  # of the largest number of a table in a figure's state
LEAST = Decimal("1e-5")  # of any number there


def agree(a: str, b: str) -> bool:
    """Tell whether two texts agree; a figure's state inside HTML is compared as JSON, its still not at all."""
    if a == b:
        return True
    (plain_a, states_a), (plain_b, states_b) = _without_states(a), _without_states(b)
    if len(states_a) != len(states_b) or not _agree_text(plain_a, plain_b):
        return False
    return all(_agree_json(x, y) for x, y in zip(states_a, states_b, strict=True))


def _without_states(text: str) -> tuple[str, list[str]]:
    text = OF_BERTVIZ.sub("", text)
    plain = STATE.sub(r"\1", without_stills(text))
    return plain, [state for _, state in STATE.findall(text)]


def _agree_text(a: str, b: str) -> bool:
    numbers = list(zip(NUMBER.findall(a), NUMBER.findall(b), strict=False))
    between_a, between_b = NUMBER.split(a), NUMBER.split(b)
    if len(between_a) != len(between_b) or not all(agree_printed(*pair) for pair in numbers):
        return False
    longer = [False, *(len(x) != len(y) for x, y in numbers), False]
    for place, (x, y) in enumerate(zip(between_a, between_b, strict=True)):
        if longer[place]:
            x, y = x.lstrip(" "), y.lstrip(" ")
        if longer[place + 1]:
            x, y = x.rstrip(" "), y.rstrip(" ")
        if x != y:
            return False
    return True


def agree_printed(a: str, b: str) -> bool:
    """Tell whether two printed numbers agree."""
    if a == b:
        return True
    x, y = (Decimal(text.replace(",", "").replace("−", "-")) for text in (a, b))
    if _is_whole(a) or _is_whole(b) or _padded_differently(a, b):
        return False
    return abs(x - y) <= Decimal(1).scaleb(min(_last_place(x), _last_place(y)))


def _is_whole(text: str) -> bool:
    return not re.search(r"\.\d|[eE]", text)


def _padded_differently(a: str, b: str) -> bool:
    """0.5 and 0.5000 are different formats; 0.1 and 0.0999 are not, where a format drops zeros at the end."""
    mantissas = [re.split("[eE]", text)[0].partition(".")[2] for text in (a, b)]
    return len(mantissas[0]) != len(mantissas[1]) and any(digits.endswith("0") for digits in mantissas)


def _last_place(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # a number that was matched is finite
    return exponent


def _agree_json(a: str, b: str) -> bool:
    """Compare two states. JSON drops zeros at the end, so numbers that stand in one list tell their places together."""
    if a == b:
        return True
    try:
        leaves_a, leaves_b = (list(leaves(json.loads(text, parse_float=Decimal))) for text in (a, b))
    except ValueError:
        return False
    if [path for path, _ in leaves_a] != [path for path, _ in leaves_b]:
        return False
    places: dict[tuple[str, ...], int] = defaultdict(int)
    largest: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for path, leaf in leaves_a + leaves_b:
        if isinstance(leaf, Decimal):
            places[_column(path)] = min(places[_column(path)], _last_place(leaf.normalize()))
            largest[_column(path)] = max(largest[_column(path)], abs(leaf))
    slack = {column: max(Decimal(1).scaleb(place), NOISE * largest[column], LEAST) for column, place in places.items()}
    pairs = zip(leaves_a, leaves_b, strict=True)
    return all(_agreeleaves(x, y, slack.get(_column(path), Decimal(0))) for (path, x), (_, y) in pairs)


def _agreeleaves(x: Any, y: Any, slack: Decimal) -> bool:
    if isinstance(x, Decimal) and isinstance(y, Decimal):
        return abs(x - y) <= slack
    if isinstance(x, str) and isinstance(y, str):
        return _agree_text(x, y)
    return type(x) is type(y) and bool(x == y)


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every value with its path; an empty list or object counts as a value."""
    children = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
    if not children:
        yield path, node
    for key, child in children:
        yield from leaves(child, (*path, key))


def _column(path: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the names on the way, without the places in lists: one table of numbers has one format."""
    return tuple(step for step in path if isinstance(step, str))


def same_picture(a: str, b: str) -> bool:
    """Tell whether two base64 PNGs show the same, but for what rounding does to the edge of a line."""
    if a == b:
        return True
    import numpy as np
    from PIL import Image

    one, other = (np.asarray(Image.open(io.BytesIO(base64.b64decode(x))).convert("RGBA")).astype(int) for x in (a, b))
    return one.shape == other.shape and bool((abs(one - other) <= STEPS).all())


def settle(fresh: list[NotebookNode], stored: list[NotebookNode]) -> None:
    """Give each fresh output that agrees with the stored one in its place the stored one's very content."""
    for new, old in zip(fresh, stored, strict=False):
        if new.output_type == old.output_type == "stream" and new.name == old.name:
            new.text = old.text if agree(new.text, old.text) else new.text
        for kind in new.get("data", {}).keys() & old.get("data", {}).keys():
            x, y = new.data[kind], old.data[kind]
            if isinstance(x, str) and isinstance(y, str):
                same = same_picture(x, y) if kind == "image/png" else agree(x, y)
                new.data[kind] = y if same else x

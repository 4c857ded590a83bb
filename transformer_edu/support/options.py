"""Values of command-line options, read with an error that says what was expected."""

import argparse
import math
import re
from collections.abc import Callable


def whole_number(least: int) -> Callable[[str], int]:
    """Reads a whole number of at least `least`."""

    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) else None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {shortened(text)}")
        return value

    return read


def number_between(least: float, most: float) -> Callable[[str], float]:
    """Reads a number in a range."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be a number from {least:g} to {most:g}, got {shortened(text)}")
        return value

    return read


def shortened(text: str) -> str:
    """What was typed, for a message."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")

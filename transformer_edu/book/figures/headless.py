"""An installed Chromium without a window: it takes stills and pictures, measures figures, and tries them in tests."""

import shutil
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def launch(playwright: Any, *flags: str, **options: Any) -> Any:
    """Start an installed Chromium or Chrome with Playwright; where there is none, Playwright starts its own."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags], **options)

"""Where the still of a figure stands in its HTML: a picture, or the mark that holds its place until one is taken."""

import base64
import re

NO_STILL = "<!--still-->"
STILL = re.compile(r'<img class="te-still"[^>]*>')  # as `assets.still_image` writes it
SOURCE = re.compile(r'src="data:image/png;base64,([^"]*)"')


def without_stills(html: str) -> str:
    """HTML with the mark in the place of each still, as it was before stills were taken."""
    return STILL.sub(NO_STILL, html)


def png_of(still: str) -> bytes:
    """The picture that an <img> holds as data; nothing if it holds none that can be read."""
    found = SOURCE.search(still)
    try:
        return base64.b64decode(found[1], validate=True) if found else b""
    except ValueError:
        return b""

"""Weights inside a page: scripts that hand a file to it, and what a figure says of its file."""

import base64
import gzip
import hashlib
from typing import Any

PART = 1_500_000  # bytes in one script: small enough to tell how far the loading is
KNOWN: dict[str, bytes] = {}  # the shipped models' files that figures of this process run


def description(content: bytes, name: str = "") -> dict[str, Any]:
    """What a figure says of its file: name of a shipped model or "", checksum, bytes, and how many scripts hold it."""
    return {
        "name": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "parts": -(-len(content) // PART),
    }


def weight_scripts(content: bytes) -> dict[str, str]:
    """File name -> script: each puts a part of the file, gzipped and in base64, where the figures' host looks for it.

    A script and not a file of bytes, because a page that was opened from disk may read nothing else.
    """
    mark = hashlib.sha256(content).hexdigest()[:12]
    scripts = {}
    for number, start in enumerate(range(0, len(content), PART)):
        text = base64.b64encode(gzip.compress(content[start : start + PART], mtime=0)).decode()
        scripts[f"model-{mark}-{number}.js"] = f'(window.transformerModels ??= {{}})["{mark}-{number}"] = "{text}";\n'
    return scripts

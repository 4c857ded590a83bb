"""A page with one view that bertviz draws, for its still: everything it loads lies beside it."""

import hashlib
from pathlib import Path

from transformer_edu.book.figures import assets, bertviz_script
from transformer_edu.support.files import write_atomically


def page(html: str, folder: Path) -> str:
    """Return a page that draws a stored view, with d3 and jQuery copied into the folder where it will lie."""
    for name, path in bertviz_script.library_files().items():
        write_atomically(folder / name, path.read_bytes())
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>View</title>\n'
        f'<meta name="bertviz-libraries" content="">\n<style>{assets.PAGE_STYLE}</style></head>\n'
        f"<body><main>{bertviz_script.with_script(html)}</main></body>\n</html>\n"
    )


def digest(html: str) -> str:
    """Twelve hex digits that change with a view's data, styles and our script; bertviz's own does not count."""
    return hashlib.sha256(bertviz_script.without_script(html).encode()).hexdigest()[:12]

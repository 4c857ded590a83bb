"""The front end as text: each figure's module, the styles, and the page's host script.

A module loaded from a Blob address (as anywidget and the published page do) cannot import a relative path, so each
figure's modules are joined into one beforehand (tools/javascript.py, book/bundles). Nothing here needs Jupyter or a
browser.
"""

import base64
import hashlib
import io
import json
import re
import struct
import zlib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from transformer_edu.book.engine.source import bundled
from transformer_edu.book.engine.weights import KNOWN, weight_scripts

FOLDER = Path(__file__).parent
PNG_END = b"IEND\xaeB`\x82"
PHONE = "height on a phone"  # the text in a still that says how high the figure is there, in CSS pixels
PICTURE, SHARED, ENGINE = "picture", "core", "engine"
BEHIND = '<script type="application/json" data-behind>'  # of a figure that can be opened in another one's place
MODELS = re.compile(r'data-model="([\w -]+)"')  # names of the shipped models that a figure runs


def _read(path: str) -> str:
    return (FOLDER / path).read_text(encoding="utf-8")


def figure_names() -> list[str]:
    """Names of all figures: one module in js/ for each."""
    found = {path.name.partition(".")[0] for path in (FOLDER / "js").glob("*.js*")}
    return sorted(found - {"host"})


def check_figure_name(name: object) -> str:
    """Return `name`, or raise unless a module js/NAME.js exists."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, the name of a figure, got {name!r} of type {type(name).__name__}")
    if name not in figure_names():
        raise ValueError(f"name must be one of {', '.join(figure_names())}, got {name!r}")
    return name


@cache
def module_source(name: str) -> str:
    """The figure's whole module, with all that it shares with others; nothing is left to import."""
    return "".join(map(bundled, scripts_of(check_figure_name(name))))


def scripts_of(*names: str) -> list[str]:
    """Those of these figures, after what they share, and the engine if any of them runs a model."""
    runs = any('transformerShared["engine ' in bundled(name) for name in names)
    return [SHARED, *([ENGINE] if runs else []), *names]


@cache
def stylesheet(*names: str) -> str:
    """The shared styles and those of the named figures; no name: of all."""
    return shared_styles() + "".join(map(own_styles, sorted(names or figure_names())))


def shared_styles() -> str:
    """What all figures have in common."""
    return _read("css/figures.css")


def own_styles(name: str) -> str:
    """What one figure has for itself, css/NAME.css; "" where it needs no styles of its own."""
    own = f"css/{name}.css"
    return _read(own) if (FOLDER / own).exists() else ""


def host_script() -> str:
    """The script that stands in for a kernel on a published page."""
    return _read("js/host.js")


def picture_source() -> str:
    """The module that makes a picture of a figure, loaded when a reader asks for one."""
    return bundled(PICTURE)


def figure_script(name: str) -> str:
    """A classic script that hands a module's text to the host script: a figure's own, PICTURE's, or a shared one."""
    text = bundled(name if name in (PICTURE, SHARED, ENGINE) else check_figure_name(name))
    return f"(window.transformerFigures ??= {{}})[{script_json(name)}] = {script_json(text)};\n"


def script_json(value: object) -> str:
    """JSON that can stand inside a <script> element: no tag can open or close in it, keys are in order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
    return re.sub("[<>&\u2028\u2029]", lambda found: escapes[found.group()], text)


def figure_html(name: str, state: dict[str, Any], alt: str, behind: tuple[str, dict[str, Any]] | None = None) -> str:
    """The element that a published page holds: state as JSON, the place of the still picture.

    Args:
        name, state, alt: of the figure.
        behind: name and state of a figure that a reader can open in its place.
    """
    figures = [(name, state), *([behind] if behind else [])]
    files = [values.get("model_file") or {} for _, values in figures]
    models = " ".join(file["name"] for file in files if file.get("name"))
    model = f' data-model="{models}"' if models else ""
    door = f' data-opens="{check_figure_name(behind[0])}"' if behind else ""
    more = f"{BEHIND}{script_json(behind[1])}</script>" if behind else ""
    return (
        f'<div class="te-figure" data-widget="{check_figure_name(name)}"{model}{door} data-alt="{escape(alt)}">'
        f'<script type="application/json">{script_json(state)}</script><!--still-->{more}</div>'
    )


def digest(html: str) -> str:
    """Twelve hex digits that change when the figure's state, module or styles do: is its still picture up to date?"""
    names = sorted(set(re.findall(r'data-widget="([\w-]+)"', html)))
    html = re.sub(f"{BEHIND}[^<]*</script>", "", html)  # which no still shows
    text = "\0".join([html, stylesheet(*names), *(module_source(name) for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def is_whole_png(png: bytes) -> bool:
    """Whether every pixel of a picture can be shown: it is no empty, cut off or damaged file."""
    from PIL import Image  # here: whoever only looks at figures does not wait for it

    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
            picture.load()
    except (OSError, SyntaxError, ValueError, struct.error, zlib.error):  # what Pillow raises, by kind of damage
        return False
    return png.endswith(PNG_END)  # which Pillow does without


def still_image(png: bytes, alt: str, mark: str) -> str:
    """The <img> of a still taken at two device pixels per CSS pixel; `mark` is the `digest` of the figure it shows."""
    if not is_whole_png(png):
        raise ValueError(f"png must be a whole PNG file, got {len(png):,} bytes that cannot be shown: {png[:16]!r}")
    width, height = (int.from_bytes(png[at : at + 4], "big") // 2 for at in (16, 20))
    source = base64.b64encode(png).decode()
    phone = phone_height(png)
    style = f'style="--te-phone: {phone}px" ' if phone else ""
    return (
        f'<img class="te-still" data-digest="{mark}" alt="{escape(alt)}" width="{width}" height="{height}" {style}'
        f'src="data:image/png;base64,{source}">'
    )


def phone_height(png: bytes) -> int:
    """How high a figure is on a phone, as its still tells; 0 if it does not."""
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        text = str(picture.info.get(PHONE, ""))
    return int(text) if text.isdecimal() else 0


def standalone_page(*figures: str, title: str = "Figure") -> str:
    """One HTML file with everything in it that these figures (their HTML) need; it opens from disk, offline."""
    names = sorted({name for html in figures for name in re.findall(r'data-(?:widget|opens)="([\w-]+)"', html)})
    models = sorted({name for html in figures for found in re.findall(MODELS, html) for name in found.split()})
    weights = [text for name in models if name in KNOWN for text in weight_scripts(KNOWN[name]).values()]
    modules = map(figure_script, [*scripts_of(*names), PICTURE])
    scripts = "".join(f"<script>{text}</script>\n" for text in [*weights, *modules, host_script()])
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{stylesheet(*names)}\n{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(figures)
        + f"\n</main>\n{scripts}</body>\n</html>\n"
    )


PAGE_STYLE = """html{color-scheme:light dark}
html[data-theme=light]{color-scheme:light}html[data-theme=dark]{color-scheme:dark}
body{margin:16px;background:Canvas;color:CanvasText}
body{font-family:-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif}
main{max-width:760px;margin:auto}h1{font-size:1.2rem}"""

"""The font of the book and its figures, made from an installed package: *Source Sans Pro*, cut to what is needed.

The Open Font License lets anyone cut a font and pass it on, under another name: here it is *Book Sans*. The three
styles stand in a style sheet itself, so a page from disk has them, too (browsers refuse it font files). Until they are
read, which takes a phone a moment, a page is laid out in a font of the reader's system. It is drawn as wide and as high
as Book Sans, so that nothing moves when that comes.

Nearly all that a page says is written in some hundred letters, for which it waits; all others come later.
"""

import base64
import io
from functools import cache
from importlib.metadata import version
from typing import Any

from transformer_edu.book.figures import bertviz_script

FAMILY = "Book Sans"
PACKAGE, FOLDER = "font-source-sans-pro", "font_source_sans_pro/files"
LICENCE = "LICENSE.txt"
# name of the style: file, and what it is in CSS
STYLES = {
    "Regular": ("SourceSansPro-Regular.ttf", "font-weight: 400; font-style: normal"),
    "Italic": ("SourceSansPro-It.ttf", "font-weight: 400; font-style: italic"),
    "Semibold": ("SourceSansPro-Semibold.ttf", "font-weight: 600 900; font-style: normal"),
}
FIRST = frozenset(map(chr, range(0x20, 0x7F))) | set("\xa0·×é–—‘’“”…←→−")
# Latin, Greek, punctuation, raised and lowered figures, arrows, operators, shapes, the tick.
RANGES = (
    *((0x20, 0x7E), (0xA0, 0x17F), (0x2B0, 0x2FF), (0x370, 0x3FF), (0x1E9E, 0x1E9E), (0x2000, 0x206F)),
    *((0x2070, 0x209F), (0x20AC, 0x20AC), (0x2100, 0x214F), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x25A0, 0x25FF)),
    (0x2713, 0x2713),
)
LATER = frozenset(chr(letter) for first, last in RANGES for letter in range(first, last + 1)) - FIRST
FEATURES = ["kern", "liga", "ccmp", "mark", "mkmk"]  # its figures are as wide as each other without a feature
NAMES = {1: FAMILY, 16: FAMILY}  # numbers of entries in a font's table of names
KEPT_NAMES = [0, 7, 13, 14]  # whose it is, and its licence
SIZE = 1.06  # its small letters are then as high as those of the system fonts that stand in for it
# What a reader's system has, one of each row: family, and for each style the names under which a browser finds it.
# Arial, Helvetica and Liberation Sans are as wide as each other, letter by letter.
STAND_INS: dict[str, dict[str, tuple[str, ...]]] = {
    "Arial": {
        "Regular": ("Arial", "Helvetica", "Liberation Sans"),
        "Italic": ("Arial Italic", "Helvetica Oblique", "Liberation Sans Italic"),
        "Semibold": ("Arial Bold", "Helvetica Bold", "Liberation Sans Bold"),
    },
    "Roboto": {"Regular": ("Roboto",), "Italic": ("Roboto Italic",), "Semibold": ("Roboto Bold",)},
    "DejaVu": {"Regular": ("DejaVu Sans",), "Italic": ("DejaVu Sans Oblique",), "Semibold": ("DejaVu Sans Bold",)},
}
# Mean width of the letters of SAMPLE, as a share of the font's size, by `mean_width` from the fonts' own files.
WIDTHS = {
    "Arial": {"Regular": 0.4422, "Italic": 0.4422, "Semibold": 0.4760},
    "Roboto": {"Regular": 0.4421, "Italic": 0.4298, "Semibold": 0.4486},
    "DejaVu": {"Regular": 0.5068, "Italic": 0.5068, "Semibold": 0.5721},
}
SAMPLE = (
    "The query of each word meets the keys of all the others, and the softmax turns their scores into weights that sum "
    "to one; what a word receives is the mean of the values, weighted so."
)


@cache
def woff2(style: str, letters: frozenset[str]) -> bytes:
    """One style, cut to some letters and compressed."""
    from fontTools import subset

    options = subset.Options(
        flavor="woff2",
        layout_features=FEATURES,
        hinting=False,
        name_IDs=[*NAMES, *KEPT_NAMES, 2, 4, 6],
        notdef_outline=True,
    )
    path = bertviz_script.installed_file(PACKAGE, f"{FOLDER}/{STYLES[style][0]}")
    names = NAMES | {2: style, 4: f"{FAMILY} {style}", 6: f"{FAMILY}-{style}".replace(" ", "")}
    file = io.BytesIO()
    with subset.load_font(str(path), options) as font:
        cut = subset.Subsetter(options)
        cut.populate(unicodes=sorted(map(ord, letters)))
        cut.subset(font)
        for entry in font["name"].names:
            entry.string = names.get(entry.nameID, entry.string)
        subset.save_font(font, file, options)
    return file.getvalue()


def licence() -> str:
    """The font's licence, which goes wherever the font goes."""
    return bertviz_script.installed_file(PACKAGE, f"{FOLDER}/{LICENCE}").read_text(encoding="utf-8")


def mean_width(font: Any) -> float:
    """Mean width of the letters of `SAMPLE` in an opened font, as a share of its size."""
    glyphs, widths = font.getBestCmap(), font["hmtx"]
    return sum(widths[glyphs[ord(letter)]][0] for letter in SAMPLE) / len(SAMPLE) / font["head"].unitsPerEm


def percent(share: float) -> str:
    """A share as CSS writes it."""
    return f"{100 * share:.2f}%"


def stand_in(family: str, style: str) -> str:
    """The rule by which a system's font takes the place of one style: as wide on average, and as high."""
    from fontTools.ttLib import TTFont

    with TTFont(io.BytesIO(woff2(style, FIRST))) as font:
        wider = SIZE * mean_width(font) / WIDTHS[family][style]
        heights = {"ascent": font["hhea"].ascent, "descent": -font["hhea"].descent, "line-gap": font["hhea"].lineGap}
        unit = font["head"].unitsPerEm * wider / SIZE  # of the stand-in, which `wider` has changed
    overrides = "".join(f" {name}-override: {percent(height / unit)};" for name, height in heights.items())
    places = ", ".join(f'local("{name}")' for name in STAND_INS[family][style])
    return (
        f'@font-face {{ font-family: "{FAMILY} {family}"; {STYLES[style][1]}; size-adjust: {percent(wider)};'
        f"{overrides} src: {places}; }}\n"
    )


def stand_ins() -> str:
    """A style sheet with what stands in for the font: it is small, and a page waits for it."""
    return "".join(stand_in(family, style) for family in STAND_INS for style in STYLES)


def unicode_range(letters: frozenset[str]) -> str:
    """Some letters as CSS writes them.

    >>> unicode_range(frozenset("abcx"))
    'U+61-63, U+78'
    """
    places = sorted(map(ord, letters))
    first = [place for place in places if place - 1 not in places]
    last = [place for place in places if place + 1 not in places]
    return ", ".join(f"U+{a:X}" if a == b else f"U+{a:X}-{b:X}" for a, b in zip(first, last, strict=True))


@cache
def faces(letters: frozenset[str]) -> str:
    """A style sheet with all three styles in it, of some letters."""
    rules = "".join(
        f'@font-face {{ font-family: "{FAMILY}"; {css}; font-display: swap; size-adjust: {percent(SIZE)}; '
        f"unicode-range: {unicode_range(letters)}; "
        f'src: url("data:font/woff2;base64,{base64.b64encode(woff2(style, letters)).decode()}") format("woff2"); }}\n'
        for style, (_, css) in STYLES.items()
    )
    return f"/* Cut from {PACKAGE} {version(PACKAGE)}, SIL Open Font License 1.1: {LICENCE}. */\n{rules}"


def stylesheet() -> str:
    """All of it: what stands in, and all letters."""
    return stand_ins() + faces(FIRST) + faces(LATER)


def with_font(page: str) -> str:
    """A page of HTML with the font in its head."""
    return page.replace("</head>", f"<style>{stylesheet()}</style></head>", 1)

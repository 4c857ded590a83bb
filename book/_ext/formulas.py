"""Sphinx extension: formulas are set when the book is built, as MathML, which browsers draw and screen readers read.

No page loads a script for its formulas, and nothing moves when it is drawn. A browser's own mathematical font depends
on the machine, and phones often have none: the letters come from *STIX Two Math*, cut to what formulas need.
"""

import base64
import io
import re
from functools import cache
from html import escape
from importlib.metadata import version
from typing import Any

from docutils import nodes
from fonts import read_now, write_sheet
from fontTools import subset
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from transformer_edu.book.figures import bertviz_script, font

logger = logging.getLogger(__name__)
RENDERER = "mathml"
SHEET = "fonts/book-math.css"
LICENCE = "LICENSE-math.txt"
FAMILY = "Book Math"
PACKAGE, FILE = "ziamath", "ziamath/fonts/STIXTwoMath-Regular.ttf"
OPERATORS = "±·×÷ˆ˜¯‖’′†…⋯ℎℝ←→↔↦⇐⇒⇔⟸⟹⟺∂∇∈∉∏∑∫−√∞∼≈≠≡≤≥≪≫∝⊙⊕⊗⊤⋅⌈⌉⌊⌋⟨⟩⏞⏟𝟙\u2061\u2062ϵϕ"
# Printable ASCII, Greek, and the italics that browsers put in their place.
LETTERS = ((0x20, 0x7E), (0xA0, 0xA0), (0x391, 0x3C9), (0x1D434, 0x1D467), (0x1D6E2, 0x1D71B))
PRIME = "minute.ssty"  # the glyph for a raised prime, which no browser but Firefox looks for
KEPT_NAMES = [0, 7, 13, 14]  # whose the font is, and its licence
MATH = re.compile("<math(?=[ >])")


@cache
def converter() -> LatexToMathML:
    """What turns LaTeX into MathML; an unknown command is an error."""
    return LatexToMathML(fancy_error=False)


def mathml(latex: str, display: bool = False) -> str:
    r"""A formula as MathML, with the LaTeX as its other text.

    Args:
        latex: the formula, without dollar signs.
        display: on a line of its own.

    Raises:
        LatexError: if the formula is not LaTeX that can be set.

    >>> mathml("x^2")
    '<math alttext="x^2"><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    formula = latex.strip()
    alternative = escape(" ".join(formula.split()))
    converted: str = converter().convert_with_local_state(formula, displaystyle=display)
    return MATH.sub(lambda _: f'<math alttext="{alternative}"', converted, count=1)


def set_formula(node: nodes.Node, latex: str, display: bool) -> str:
    """A formula as MathML; one that cannot be set is a warning, and stands as LaTeX on the page."""
    try:
        return mathml(latex, display)
    except LatexError as error:
        logger.warning("the formula %r cannot be set: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line."""
    formula = set_formula(node, node.astext(), display=False)
    self.body.append(f"{self.starttag(node, 'span', '', CLASS='math notranslate nohighlight')}{formula}</span>")
    raise nodes.SkipNode


def visit_displayed(self: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own, with its number, if it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if number := node.get("printed_number"):  # given by numbering.py
        self.body.append(
            f'<span class="eqno"><a class="reference internal" href="#{node["ids"][0]}">({number})</a></span>'
        )
    self.body.append(set_formula(node, node.astext(), display=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def narrow_roots(whole: TTFont) -> None:
    """Make high root signs as narrow as the low one.

    Chromium leaves room behind a root for the widest of them, whichever it draws.
    """
    variants, widths = whole["MATH"].table.MathVariants, whole["hmtx"]
    low = whole.getBestCmap()[ord("√")]
    root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(low)]
    parts = [one.glyph for one in root.GlyphAssembly.PartRecords]
    for name in {*parts, *(one.VariantGlyph for one in root.MathGlyphVariantRecord)} - {low}:
        glyph, share = whole["glyf"][name], widths[low][0] / widths[name][0]
        glyph.coordinates.scale((share, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(whole["glyf"])
        widths[name] = (widths[low][0], glyph.xMin)


@cache
def woff2() -> bytes:
    """The font, cut and compressed, with its table of what stretches."""
    options = subset.Options(flavor="woff2", hinting=False, name_IDs=KEPT_NAMES, layout_features=[])
    file = io.BytesIO()
    with subset.load_font(str(bertviz_script.installed_file(PACKAGE, FILE)), options) as whole:
        narrow_roots(whole)
        for table in whole["cmap"].tables:
            if table.isUnicode():
                table.cmap[ord("′")] = PRIME
        cut = subset.Subsetter(options)
        letters = [letter for first, last in LETTERS for letter in range(first, last + 1)]
        cut.populate(unicodes=[*letters, *map(ord, OPERATORS)])
        cut.subset(whole)
        subset.save_font(whole, file, options)
    return file.getvalue()


def licence() -> str:
    """Whose font it is, and the Open Font License, whose text is the same for all fonts."""
    terms = font.licence()
    return (
        "Copyright 2001-2020 The STIX Fonts Project Authors (https://github.com/stipub/stixfonts)\n\n"
        + terms[terms.index("This Font Software is licensed") :]
    )


def write_font(app: Sphinx) -> None:
    """Write the style sheet that holds the font, and the licence beside it."""
    if app.builder.format != "html":
        return
    data = base64.b64encode(woff2()).decode()
    text = (
        f"/* STIX Two Math, cut, from {PACKAGE} {version(PACKAGE)}, SIL Open Font License 1.1: {LICENCE}. */\n"
        f'@font-face {{ font-family: "{FAMILY}"; src: url("data:font/woff2;base64,{data}") format("woff2"); }}\n'
        f'math {{ font-family: "{FAMILY}", math; }}\n'
    )
    write_sheet(app, SHEET, text)
    write_sheet(app, f"fonts/{LICENCE}", licence())


def prepare_page(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Give the font to a page that has formulas."""
    if MATH.search(context.get("body") or ""):
        address = escape(context["pathto"](f"_static/{SHEET}", 1))
        tags = f'\n<link rel="stylesheet" href="{address}">\n<script>{read_now(FAMILY, "400")}</script>'
        context["metatags"] = context.get("metatags", "") + tags


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and the font."""
    app.add_html_math_renderer(RENDERER, (visit_math, None), (visit_displayed, None))
    app.connect("builder-inited", write_font)
    app.connect("html-page-context", prepare_page, priority=850)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

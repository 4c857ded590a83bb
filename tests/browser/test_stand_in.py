"""Until the book's font is read, a system's font takes the same room: nothing moves when it comes."""

import pytest

from transformer_edu.book.figures import font

WITHIN = 0.02  # of the width of a line
TEXT = (
    "Chapter 5: a clock for every position. A pair of numbers goes round once in 6.28 positions, the next ones more "
    "slowly; from 0 to 127 no two rows are alike, and a query can ask for what stands three tokens before it."
)
# Width and height of a line in this style of a font; null where no font of the machine has the face's names.
LINE = """async ([css, text]) => {
    const faces = await document.fonts.load(css).catch(() => []);
    if (!faces.length) return null;
    const line = document.createElement("span");
    Object.assign(line.style, { font: css, display: "inline-block", whiteSpace: "nowrap" });
    line.textContent = text;
    document.body.append(line);
    const { width, height } = line.getBoundingClientRect();
    line.remove();
    return [width, height];
}"""


@pytest.mark.parametrize("style", ["400", "italic 400", "600"])
def test_a_stand_in_is_as_wide_and_as_high_as_the_font(strict_page, style):
    page = strict_page().page
    page.set_content(font.with_font("<!doctype html><head></head><body></body>"))

    def line(family):
        return page.evaluate(LINE, [f'{style} 16px/normal "{family}"', TEXT])

    width, height = line(font.FAMILY)
    found = [size for name in font.STAND_INS if (size := line(f"{font.FAMILY} {name}"))]
    assert found, "this machine has none of the fonts that stand in"
    assert [its_width for its_width, _ in found] == pytest.approx([width] * len(found), rel=WITHIN)
    assert [its_height for _, its_height in found] == pytest.approx([height] * len(found), abs=1)

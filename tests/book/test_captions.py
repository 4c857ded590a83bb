"""A figure's number and its caption are one, whichever way the caption is written."""

import captions
import pytest
from docutils import nodes


def under(*parts):
    """What stands under a figure whose next paragraph has these parts, those in asterisks in italics."""
    output = nodes.container()
    cell = nodes.container("", output)
    made = [nodes.emphasis("", part.strip("*")) if part[0] == "*" else nodes.Text(part) for part in parts]
    page = nodes.section("", cell, *([nodes.paragraph("", "", *made)] if made else []))
    captions.put_caption(cell, output, nodes.reference("", "Figure 1.4", refid="figure-1-4"))
    shown = list(page.findall(nodes.paragraph))
    return [node.astext() for node in shown], [node for node in shown if captions.CAPTION in node["classes"]]


@pytest.mark.parametrize(
    ("parts", "texts", "italic"),
    [
        (["*Press Play.*"], ["Figure 1.4 Press Play."], []),
        (["*Press* ", "Play", "* and look.*"], None, ["Play"]),
        (["*Two rows of*", " the."], ["Figure 1.4 Two rows of the."], ["the"]),
        (["*Mean of three.*", " It ends there."], ["Figure 1.4 Mean of three.", "It ends there."], []),
        (["*The row of*", " cat, ", "*then all (for now).*", " And so?"], None, ["cat"]),
    ],
)
def test_a_caption_begins_with_the_number_and_what_stands_out_is_in_italics(parts, texts, italic):
    shown, [caption] = under(*parts)
    assert shown[0].startswith("Figure 1.4 ")
    assert texts is None or shown == texts
    assert [emphasis.astext() for emphasis in caption.findall(nodes.emphasis)] == italic


@pytest.mark.parametrize("parts", [[], ["Prose."], ["*bank*", " has moved."]])
def test_a_figure_without_a_caption_has_its_number_alone(parts):
    shown, [caption] = under(*parts)
    assert caption.astext() == "Figure 1.4"
    assert caption["classes"] == [captions.CAPTION]
    assert shown[1:] == (["".join(part.strip("*") for part in parts)] if parts else [])

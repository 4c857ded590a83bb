"""What the figures say after a reader's actions. The numbers are compared in each figure's own file."""

import pytest

from tests.browser.figure_page import play
from transformer_edu import widgets

OBJECT = "the cow watches the small black cat"


SCENES = {
    "attention-map: a word is chosen in the drawing or in the matrix, or pointed at": (
        widgets.AttentionMap,
        "While it writes noir, it looks at black … Its input here is chat, the word just written.",
        "> radio chat",
        "While it writes chat, it looks at cat",
        "> click [data-matrix=weights] [data-row='5'][data-column='6']",
        "While it writes dort, it looks at",
        "> hover .te-link-queries [data-value='1']",
        "While it writes petit, it looks at",
        "> hover .te-says",
        "While it writes dort, it looks at",
        "> radio end; radio Encoder self",
        "While it reads sleep it looks at",
    ),
    "context-explorer: the noun decides the article's vector only where the gender changes": (
        widgets.ContextExplorer,
        "the before cat and before cow: one vector in, two out",
        "Every the starts from one embedding. These two stand at one place, so the position does not part them.",
        "> radio the small black dog does not sleep",
        "the before cat and before dog: one vector in, nearly one out",
        "> radio embedding",
        "~ the, sentences 1 and 3, embedding: likeness (cosine) 1.000",
    ),
    "mask-lab: nowhere to look is zero by the book's rule": (
        lambda: widgets.MaskLab(causal=True, pad_first=True, query=0),
        "zero, never NaN",
        "> click .te-details summary; slider French 2 = 0",
        "Nothing but padding",
    ),
    "mask-lab: a mistake is taken back by another mask, and by another kind of attention": (
        lambda: widgets.MaskLab(mistake="added"),
        "True adds 1, False adds 0.",
        "> radio no padding mask",
        "No leak: each word looks only where it may … Here only padding looks at padding",
        "> radio causal mask turned round; radio cross-attention",
        "Each French position may look at every English word",
    ),
    "training-replay: before training all words are alike": (
        lambda: widgets.TrainingReplay(step=0),
        "127 words 1/127 = 0.008 and costs ln 127 = 4.84",
        "> click .te-details summary",
        "no step made yet",
        "> button Play; button Pause; radio twice the rate",
        "Within 1,000 steps this run never writes the sentence",
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_words_follow_the_reader(scene, show):
    make, *lines = SCENES[scene]
    play(show(make()), *lines)

"""Models that have already learnt, shipped with the package: one module for each, and its files beside it.

>>> from transformer_edu import pretrained
>>> pretrained.load_grammar().translate("the small black cat does not sleep")
'le petit chat noir ne dort pas'
"""

from transformer_edu.pretrained.grammar import Pretrained, load_grammar
from transformer_edu.pretrained.stories import ANSWERING, STORIES, load_answering, load_stories, stories_log
from transformer_edu.pretrained.translator import (
    TRANSLATOR,
    load_translator,
    translator_log,
    translator_scores,
)

__all__ = [
    "ANSWERING",
    "STORIES",
    "TRANSLATOR",
    "Pretrained",
    "load_answering",
    "load_grammar",
    "load_stories",
    "load_translator",
    "stories_log",
    "translator_log",
    "translator_scores",
]

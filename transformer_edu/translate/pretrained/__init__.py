"""Models that have already learnt, shipped with the package: one module for each, and its files beside it.

>>> from transformer_edu import pretrained
>>> pretrained.load_grammar().translate("the small black cat does not sleep")
'le petit chat noir ne dort pas'
"""

from transformer_edu.translate.pretrained.grammar import Pretrained, load_grammar
from transformer_edu.translate.pretrained.translator import (
    TRANSLATOR,
    load_translator,
    translator_log,
    translator_scores,
)

__all__ = ["TRANSLATOR", "Pretrained", "load_grammar", "load_translator", "translator_log", "translator_scores"]

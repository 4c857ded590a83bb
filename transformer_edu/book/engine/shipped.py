"""The pages' files of the shipped models."""

from functools import cache

from transformer_edu.book.engine.page_file import page_file
from transformer_edu.book.engine.weights import KNOWN
from transformer_edu.pretrained.grammar import load_grammar
from transformer_edu.pretrained.stories import TELLERS
from transformer_edu.pretrained.translator import TRANSLATOR, load_translator
from transformer_edu.support.validation import check_choice

GRAMMAR = "grammar"
SHIPPED = (GRAMMAR, TRANSLATOR)  # that translate


@cache
def shipped_file(name: str) -> bytes:
    """The page's file of a shipped model: "grammar" with 16 bits a weight, all others with 8."""
    check_choice("name", name, (*SHIPPED, *TELLERS))
    if name == GRAMMAR:
        grammar = load_grammar()
        content = page_file(grammar.model, (grammar.source_vocabulary, grammar.target_vocabulary))
    elif name in TELLERS:
        teller = TELLERS[name]()
        content = page_file(teller.model, teller.tokenizer, bits=8)
    else:
        translator = load_translator()
        content = page_file(translator.model, translator.tokenizer, bits=8)
    KNOWN[name] = content
    return content

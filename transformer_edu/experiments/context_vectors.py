"""What a word's vector takes from its sentence: the data of the context explorer."""

from typing import Any

from transformer_edu import pretrained
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.experiments import experiment
from transformer_edu.widgets.context_explorer_data import record_vectors

SENTENCES = (  # the running sentence, then: gender, nothing of the kind, number, one place to the left, in the object
    RUNNING_SENTENCE,
    "the small black cow does not sleep",
    "the small black dog does not sleep",
    "the small black cats do not sleep",
    "the black cat does not sleep",
    "the cow watches the small black cat",
)


@experiment("context-vectors")
def record_context_vectors() -> dict[str, Any]:
    """Words of the running sentence in other sentences: before, between and after the shipped model's layers."""
    return record_vectors(pretrained.load_grammar(), SENTENCES)

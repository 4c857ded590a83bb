"""What flows through the blocks of the shipped model: the data of the architecture map."""

from typing import Any

from transformer_edu import pretrained
from transformer_edu.data.examples import RUNNING_SENTENCE, RUNNING_TRANSLATION
from transformer_edu.experiments import experiment
from transformer_edu.widgets.architecture_map_data import record_trace


@experiment("architecture-map")
def record_architecture_map() -> dict[str, Any]:
    """Every block's output for the running sentence, its right translation as the decoder's input. A second."""
    return record_trace(pretrained.load_grammar(), RUNNING_SENTENCE, RUNNING_TRANSLATION)

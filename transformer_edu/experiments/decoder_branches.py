"""What the shipped model would write after another word: the data of the decoder stepper."""

from typing import Any

from transformer_edu import pretrained
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.experiments import experiment
from transformer_edu.widgets.decoder_stepper_data import record_branches


@experiment("decoder-branches")
def record_decoder_branches() -> dict[str, Any]:
    """The running sentence with each of its likeliest words tried at each step, and *la*. A second."""
    return record_branches(pretrained.load_grammar(), RUNNING_SENTENCE, also=("la",))

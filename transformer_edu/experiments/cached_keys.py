"""Do the keys of earlier words change while the shipped model writes? The data of the cache stepper."""

from typing import Any

from transformer_edu import pretrained
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.experiments import experiment
from transformer_edu.widgets.cache_stepper_data import record_keys


@experiment("cached-keys")
def record_cached_keys() -> dict[str, Any]:
    """The decoder's keys at every step of writing the running sentence, with the causal mask and without. A second."""
    return record_keys(pretrained.load_grammar(), RUNNING_SENTENCE)

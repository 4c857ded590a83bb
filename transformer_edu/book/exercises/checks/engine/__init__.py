"""What all checks share: the trials and how they are compared, the diagnosis, and the laboratory they run in."""

from transformer_edu.book.exercises.checks.engine.compare import Unfit, as_number, as_tensor, change
from transformer_edu.book.exercises.checks.engine.component import CheckFailed, Component
from transformer_edu.book.exercises.checks.engine.observe import (
    inputs_afterwards,
    loss_tensor,
    loss_value,
    made_module,
    output,
    read_list,
)
from transformer_edu.book.exercises.checks.engine.side_effects import forgotten_parameters, gradient_of
from transformer_edu.book.exercises.checks.engine.trial import Mistake, Trial

__all__ = [
    "CheckFailed",
    "Component",
    "Mistake",
    "Trial",
    "Unfit",
    "as_number",
    "as_tensor",
    "change",
    "forgotten_parameters",
    "gradient_of",
    "inputs_afterwards",
    "loss_tensor",
    "loss_value",
    "made_module",
    "output",
    "read_list",
]

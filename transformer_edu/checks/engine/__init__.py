"""What all checks share: the trials and how they are compared, the diagnosis, and the laboratory they run in."""

from transformer_edu.checks.engine.component import CheckFailed, Component, need_callable
from transformer_edu.checks.engine.trial import Mistake, Trial

__all__ = ["CheckFailed", "Component", "Mistake", "Trial", "need_callable"]

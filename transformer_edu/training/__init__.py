"""Training: the loss, the learning-rate schedule, the loop, scores, and saving.

The recipe of the book's own model is in `transformer_edu.training.grammar_model`.
"""

from transformer_edu.saving.checkpoint import load_model, read_extra, save_model
from transformer_edu.training.evaluate import exact_match, greedy_ids
from transformer_edu.training.loop import History, Step, evaluate_loss, train
from transformer_edu.training.loss import label_smoothing
from transformer_edu.training.schedule import warmup_schedule

__all__ = [
    "History",
    "Step",
    "evaluate_loss",
    "exact_match",
    "greedy_ids",
    "label_smoothing",
    "load_model",
    "read_extra",
    "save_model",
    "train",
    "warmup_schedule",
]

"""Where chapter 17 finds the suspects."""

from transformer_edu.book.figures.symptom_finder import cases, verdicts

__all__ = ["cases", "verdicts"]

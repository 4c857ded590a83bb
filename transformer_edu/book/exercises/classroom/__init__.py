"""Problem sets for a class: made for a term, handed out, graded. A student's notebook imports `Examples`."""

from transformer_edu.book.exercises.classroom.examples import Examples

__all__ = ["Examples"]

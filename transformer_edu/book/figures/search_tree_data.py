"""What chapters import of a search tree: it is in `search_tree`."""

from transformer_edu.book.figures.search_tree import HAND_LANGUAGE, hand_tree

__all__ = ["HAND_LANGUAGE", "hand_tree"]

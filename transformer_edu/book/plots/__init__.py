"""The book's pictures. Every function returns a matplotlib Figure and leaves the reader's settings alone.

Tensors may require a gradient and live on any device. Nothing here calls `plt.show()`: the caller decides.
"""

from transformer_edu.book.plots.architecture import plot_architecture
from transformer_edu.book.plots.attention import plot_attention, plot_attention_heads
from transformer_edu.book.plots.bars import plot_bars
from transformer_edu.book.plots.distributions import plot_distributions
from transformer_edu.book.plots.heads import plot_multi_head, plot_one_and_two_heads
from transformer_edu.book.plots.lines import plot_lines
from transformer_edu.book.plots.matrices import plot_matrices
from transformer_edu.book.plots.positions import plot_encoding, plot_position_similarity, plot_waves
from transformer_edu.book.plots.rotations import plot_rotation
from transformer_edu.book.plots.sampling import plot_draws, plot_truncation
from transformer_edu.book.plots.sublayers import plot_classes, plot_norm_placement
from transformer_edu.book.plots.training import plot_measures, plot_schedule, plot_training
from transformer_edu.book.plots.vectors import plot_moves, plot_vectors

__all__ = [
    "plot_architecture",
    "plot_attention",
    "plot_attention_heads",
    "plot_bars",
    "plot_classes",
    "plot_distributions",
    "plot_draws",
    "plot_encoding",
    "plot_lines",
    "plot_matrices",
    "plot_measures",
    "plot_moves",
    "plot_multi_head",
    "plot_norm_placement",
    "plot_one_and_two_heads",
    "plot_position_similarity",
    "plot_rotation",
    "plot_schedule",
    "plot_training",
    "plot_truncation",
    "plot_vectors",
    "plot_waves",
]

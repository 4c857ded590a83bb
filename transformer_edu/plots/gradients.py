"""How large the gradient is in each layer of a stack."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from transformer_edu.plots.curves import as_runs, band_note, check_references, draw_references, draw_runs
from transformer_edu.plots.inputs import as_mapping
from transformer_edu.plots.lines import HEIGHT, finish_axes, name_curves
from transformer_edu.plots.style import WIDTH, book_style, whole_ticks


@book_style
def plot_gradient_norms(
    norms: Mapping[str, Any],
    y_label: str = "norm of the gradient",
    title: str | None = None,
    reference_lines: Mapping[str, float | int] | None = None,
) -> Figure:
    """Gradient norms by layer on a logarithmic axis, one curve for each way of building the stack.

    Args:
        norms: name -> (layers,), first layer first, each above 0; or (seeds, layers): the mean of the seeds, and a
            band from the lowest to the highest. Stacks may differ in depth.
        y_label: what is measured.
        title: a line above the axes.
        reference_lines: name -> height of a horizontal line to compare with.
    """
    runs = {name: as_runs(f"norms[{name!r}]", ys, y_log=True) for name, ys in as_mapping("norms", norms).items()}
    for name, values in runs.items():
        if not np.isfinite(values).all():
            raise ValueError(f"norms[{name!r}] must hold finite numbers, got {values[~np.isfinite(values)][0]}")
    references = check_references(reference_lines, y_log=True)
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    for order, (name, values) in enumerate(runs.items()):
        draw_runs(axes, np.arange(1, values.shape[1] + 1), values, name, order, markers=True)
    finish_axes(axes, "layer, counted from the input", y_label, y_log=True)
    whole_ticks(axes.xaxis)
    draw_references(axes, references)
    name_curves(figure, axes, "\n".join(filter(None, [title, band_note(runs)])) or None)
    return figure

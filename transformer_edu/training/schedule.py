"""The learning rate of the paper: up in a straight line, then down with one over the square root of the step."""

from transformer_edu.support.validation import check_positive_integer


def warmup_schedule(step: int, d_model: int, warmup_steps: int) -> float:
    """The learning rate at `step`, counted from 1 (paper, section 5.3, equation 3).

        rate = d_model^(-1/2) · min(step^(-1/2), step · warmup_steps^(-3/2))

    The two arguments of `min` are equal at step = warmup_steps: the peak, (d_model · warmup_steps)^(-1/2).

    >>> round(warmup_schedule(4000, d_model=512, warmup_steps=4000), 6)     # the paper's base model
    0.000699
    """
    check_positive_integer("step", step)
    check_positive_integer("d_model", d_model)
    check_positive_integer("warmup_steps", warmup_steps)
    return float(d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))

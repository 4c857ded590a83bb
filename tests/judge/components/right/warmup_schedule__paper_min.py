"""kind: warmup_schedule
name: warmup_schedule
style: the equation as printed, one return"""


def warmup_schedule(step, d_model, warmup_steps):
    return d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5)

"""kind: warmup_schedule
name: learning_rate
"""
import math


def learning_rate(step, d_model, warmup_steps):
    scale = 1.0 / math.sqrt(d_model)
    if step < warmup_steps:
        return scale * step / (warmup_steps * math.sqrt(warmup_steps))
    return scale / math.sqrt(step)

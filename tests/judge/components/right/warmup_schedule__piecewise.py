"""kind: warmup_schedule
name: get_lr
style: branches for the two phases, math.sqrt, peak computed first"""
import math


def get_lr(step: int, d_model: int, warmup_steps: int) -> float:
    peak = 1.0 / math.sqrt(d_model * warmup_steps)
    # 1) linear warmup
    if step < warmup_steps:
        return peak * step / warmup_steps
    # 2) inverse square root decay
    return peak * math.sqrt(warmup_steps / step)

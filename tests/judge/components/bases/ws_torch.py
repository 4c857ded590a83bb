"""kind: warmup_schedule
name: noam
"""
import torch


def noam(step, d_model, warmup_steps):
    step = torch.tensor(float(step))
    arg1 = torch.rsqrt(step)
    arg2 = step * (warmup_steps ** -1.5)
    return (d_model ** -0.5 * torch.minimum(arg1, arg2)).item()

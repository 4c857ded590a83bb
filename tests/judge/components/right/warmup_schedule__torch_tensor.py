"""kind: warmup_schedule
name: noam_lr
style: TensorFlow-tutorial arguments arg1/arg2 with rsqrt, returns a float64 torch scalar"""
import torch


def noam_lr(step, d_model, warmup_steps):
    step = torch.as_tensor(step, dtype=torch.float64)
    d_model = torch.as_tensor(d_model, dtype=torch.float64)
    arg1 = torch.rsqrt(step)
    arg2 = step * (warmup_steps ** -1.5)
    return torch.rsqrt(d_model) * torch.minimum(arg1, arg2)

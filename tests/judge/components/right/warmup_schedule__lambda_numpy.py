"""kind: warmup_schedule
name: noam
style: lambda with numpy, works on arrays too"""
import numpy as np

noam = lambda step, d_model, warmup_steps: np.power(float(d_model), -0.5) * np.minimum(
    np.power(np.asarray(step, dtype=np.float64), -0.5), np.asarray(step) * np.power(float(warmup_steps), -1.5))

"""kind: kv_cache
name: DynamicCache
"""
import torch


class DynamicCache:
    def __init__(self):
        self.k_steps = []
        self.v_steps = []

    def update(self, key, value):
        self.k_steps.append(key)
        self.v_steps.append(value)
        all_k = torch.cat(self.k_steps, dim=-2)
        all_v = torch.cat(self.v_steps, dim=-2)
        return all_k, all_v

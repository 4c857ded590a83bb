"""kind: kv_cache
name: LayerCache
style: keeps the pieces in a list of pairs, joins them at every update, and copies what it is given"""
import torch
import torch.nn as nn


class LayerCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = []

    def update(self, K, V):
        # clone: the caller may reuse its buffers
        self.steps.append((K.clone(), V.clone()))
        all_K, all_V = zip(*self.steps)
        return torch.cat(all_K, dim=-2), torch.cat(all_V, dim=-2)

    def forward(self, K, V):
        return self.update(K, V)

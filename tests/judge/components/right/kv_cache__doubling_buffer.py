"""kind: kv_cache
name: KVCache
style: one stacked buffer (2, batch, heads, capacity, d) that doubles from 4, returns views"""
import torch


class KVCache:
    def __init__(self):
        self.kv = None
        self.n = 0

    def update(self, key, value):
        new = torch.stack((key, value))
        end = self.n + key.size(-2)
        if self.kv is None:
            self.kv = new.new_empty(*new.shape[:3], 4, new.size(-1))
        if end > self.kv.size(3):
            bigger = new.new_empty(*new.shape[:3], max(end, 2 * self.kv.size(3)), new.size(-1))
            bigger[:, :, :, : self.n] = self.kv[:, :, :, : self.n]
            self.kv = bigger
        self.kv[:, :, :, self.n : end] = new
        self.n = end
        k, v = self.kv[:, :, :, :end].unbind(0)
        return k, v

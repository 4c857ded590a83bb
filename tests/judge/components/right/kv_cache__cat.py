"""kind: kv_cache
name: KVCache
style: the five-line torch.cat cache"""
import torch


class KVCache:
    def __init__(self):
        self.k = self.v = None

    def update(self, key, value):
        self.k = key if self.k is None else torch.cat([self.k, key], dim=2)
        self.v = value if self.v is None else torch.cat([self.v, value], dim=2)
        return self.k, self.v

    def __len__(self):
        return 0 if self.k is None else self.k.size(2)

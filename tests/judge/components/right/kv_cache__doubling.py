"""kind: kv_cache
name: GrowingCache
style: amortised doubling like a C++ vector, token-major storage (n, batch, heads, d), permuted views out"""
import torch


class GrowingCache:
    def __init__(self, capacity=4):
        self._store = None
        self._n = 0
        self._cap = capacity

    def _room_for(self, n, k, v):
        if self._store is None:
            while self._cap < n:
                self._cap *= 2
            self._store = [t.new_empty(self._cap, t.size(0), t.size(1), t.size(3)) for t in (k, v)]
        elif self._n + n > self._cap:
            while self._n + n > self._cap:
                self._cap *= 2
            bigger = [t.new_empty(self._cap, *t.shape[1:]) for t in self._store]
            for new, old in zip(bigger, self._store):
                new[: self._n] = old[: self._n]
            self._store = bigger

    def update(self, key, value):
        n = key.size(2)
        self._room_for(n, key, value)
        for slab, fresh in zip(self._store, (key, value)):
            slab[self._n:self._n + n] = fresh.permute(2, 0, 1, 3)
        self._n += n
        k, v = (slab[: self._n].permute(1, 2, 0, 3) for slab in self._store)
        return k, v

    @property
    def length(self):
        return self._n

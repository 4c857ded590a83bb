"""kind: top_k
name: top_k
style: code golf"""
import torch as t
top_k = lambda z, k: (lambda v, i: t.zeros_like(z).scatter(-1, i, v.softmax(-1)))(*z.topk(min(k, z.size(-1)), -1))

"""kind: top_k
name: keep
style: topk and scatter"""
import torch


def keep(logits, k):
    values, places = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.zeros_like(logits).scatter(-1, places, values.softmax(-1))

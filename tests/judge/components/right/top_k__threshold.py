"""kind: top_k
name: top_k_probs
style: a threshold for each row"""
import torch


def top_k_probs(logits, k):
    k = min(k, logits.size(-1))
    kth = torch.sort(logits, dim=-1, descending=True).values[:, k - 1 : k]
    return torch.softmax(logits.masked_fill(logits < kth, float("-inf")), dim=-1)

"""kind: top_k
name: filtered
style: a loop over rows; logits with −∞"""
import torch


def filtered(scores, n):
    result = scores.clone()
    for row in result:
        row[row.argsort(descending=True)[n:]] = -torch.inf
    return result

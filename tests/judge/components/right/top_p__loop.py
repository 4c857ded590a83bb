"""kind: top_p
name: nucleus
style: a loop over rows and tokens"""
import torch


def nucleus(logits, p):
    out = torch.zeros_like(logits)
    for row, target in zip(logits.softmax(-1), out):
        total = 0.0
        for i in torch.argsort(row, descending=True).tolist():
            target[i] = row[i]
            total += float(row[i])
            if total >= p:
                break
        target /= target.sum()
    return out

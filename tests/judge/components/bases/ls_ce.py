"""kind: label_smoothing
name: criterion
"""
import torch
import torch.nn.functional as F


def criterion(logits, labels, pad_id, smoothing):
    weights = (labels != pad_id).to(logits.dtype)
    per_token = F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=smoothing
    )
    return (per_token * weights).sum() / weights.sum()

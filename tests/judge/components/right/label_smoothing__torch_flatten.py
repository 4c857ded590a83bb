"""kind: label_smoothing
name: label_smoothing
style: torch's own cross_entropy on flattened tensors"""
import torch.nn.functional as F


def label_smoothing(logits, target, pad_id, smoothing=0.1):
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), target.reshape(-1), ignore_index=pad_id,
                           label_smoothing=smoothing)

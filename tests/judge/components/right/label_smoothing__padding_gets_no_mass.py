"""kind: label_smoothing
name: label_smoothing
style: the smoothing mass goes to the size - 2 tokens that are neither the target nor padding (annotated paper), as a cross entropy"""
import torch
import torch.nn.functional as F


def label_smoothing(logits, target, pad_id, smoothing):
    "The mass goes to all tokens but the right one and padding, so it is divided by size - 2."
    size = logits.size(-1)
    keep = target.reshape(-1) != pad_id
    x = F.log_softmax(logits.reshape(-1, size)[keep], dim=-1)
    target = target.reshape(-1)[keep]
    true_dist = torch.full_like(x, smoothing / (size - 2)).detach()
    true_dist[:, pad_id] = 0
    true_dist.scatter_(1, target.unsqueeze(1), 1.0 - smoothing)
    return -(true_dist * x).sum(dim=1).mean()

"""kind: label_smoothing
name: label_smoothed_nll
"""
import torch
import torch.nn.functional as F


def label_smoothed_nll(logits, target, pad_id, smoothing):
    lprobs = F.log_softmax(logits, dim=-1)
    nll = -lprobs.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    smooth = -lprobs.mean(dim=-1)
    loss = (1 - smoothing) * nll + smoothing * smooth
    keep = target != pad_id
    return loss[keep].sum() / keep.sum()

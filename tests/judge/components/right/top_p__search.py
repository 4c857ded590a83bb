"""kind: top_p
name: smallest_set
style: searchsorted"""
import torch


def smallest_set(logits, p):
    probs = logits.softmax(-1)
    ordered = probs.sort(dim=-1, descending=True).values
    count = torch.searchsorted(ordered.cumsum(-1), torch.full_like(ordered[:, :1], p)).clamp(max=logits.shape[-1] - 1)
    kept = torch.where(probs >= ordered.gather(-1, count), probs, torch.zeros(()))
    return kept / kept.sum(-1, keepdim=True)

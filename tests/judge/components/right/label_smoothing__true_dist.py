"""kind: label_smoothing
name: smoothed_loss
style: Annotated-like: builds true_dist explicitly with scatter, index_fill for pad rows, cross entropy by sum"""
import torch


def smoothed_loss(logits, target, pad_id, smoothing=0.0):
    V = logits.size(-1)
    x = torch.log_softmax(logits.contiguous().view(-1, V), dim=-1)
    t = target.contiguous().view(-1)
    keep = torch.nonzero(t != pad_id).squeeze(-1)
    x, t = x[keep], t[keep]
    confidence = 1.0 - smoothing
    true_dist = torch.full_like(x, smoothing / V)
    true_dist.scatter_add_(1, t.unsqueeze(1), torch.full_like(t.unsqueeze(1), confidence, dtype=x.dtype))
    assert torch.allclose(true_dist.sum(1), torch.ones_like(true_dist.sum(1)))
    return torch.sum(-true_dist * x) / len(t)

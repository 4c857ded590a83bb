"""kind: sink_attention
name: sdpa_with_sinks
style: logsumexp"""
import torch


def sdpa_with_sinks(query, key, value, sinks, mask=None):
    logits = (query @ key.mT).float() * query.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask, logits, float("-inf"))
    total = torch.logaddexp(logits.logsumexp(-1, keepdim=True), sinks.float()[:, None, None])
    weights = torch.exp(logits - total)
    return (weights.to(value.dtype) @ value), weights

"""kind: top_p
name: nucleus
style: sorted, shifted by one, put back"""
import torch


def nucleus(logits, top_p):
    ordered, places = logits.sort(dim=-1, descending=True)
    reached = ordered.softmax(-1).cumsum(-1)
    out = torch.cat([torch.zeros_like(reached[..., :1], dtype=torch.bool), reached[..., :-1] >= top_p], dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, places, ordered.masked_fill(out, float("-inf")))

"""kind: greedy_search
name: greedy_search
style: growing tensor with torch.cat, finished flags, early stop, no_grad decorator"""
import torch


@torch.no_grad()
def greedy_search(model, source, bos_id, eos_id, max_len):
    pad_id = model.config.pad_id
    memory = model.encode(source)
    ids = torch.full((source.size(0), 1), bos_id, dtype=torch.long, device=source.device)
    finished = torch.zeros(source.size(0), dtype=torch.bool, device=source.device)
    while ids.size(1) < max_len:
        logits = model.project(model.decode(ids, memory, source))[:, -1]
        next_id = logits.argmax(dim=-1)
        next_id = torch.where(finished, pad_id, next_id)
        ids = torch.cat([ids, next_id[:, None]], dim=1)
        finished = finished | (next_id == eos_id)
        if finished.all():
            break
    return ids

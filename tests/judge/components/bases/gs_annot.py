"""kind: greedy_search
name: greedy_decode
"""
import torch


@torch.no_grad()
def greedy_decode(model, source, bos_id, eos_id, max_len):
    memory = model.encode(source)
    pad = model.config.pad_id
    ys = torch.full((source.size(0), 1), bos_id, dtype=torch.long)
    finished = torch.zeros(source.size(0), dtype=torch.bool)
    while ys.size(1) < max_len:
        out = model.decode(ys, memory, source)
        prob = model.project(out[:, -1])
        next_word = prob.argmax(dim=-1)
        next_word = next_word.masked_fill(finished, pad)
        ys = torch.cat([ys, next_word.unsqueeze(1)], dim=1)
        finished = finished | (next_word == eos_id)
        if finished.all():
            break
    return ys

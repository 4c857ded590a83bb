"""kind: greedy_search
name: greedy_decode
style: Annotated Transformer greedy_decode in batch, project() called on the last position's (batch, d_model) vectors"""
import torch


def greedy_decode(model, src, start_symbol, end_symbol, max_len):
    memory = model.encode(src)
    ys = torch.zeros(src.size(0), 1).fill_(start_symbol).type_as(src.data)
    done = torch.zeros(src.size(0)).bool()
    for i in range(max_len - 1):
        out = model.decode(ys, memory, src)
        prob = model.project(out[:, -1])
        _, next_word = torch.max(prob, dim=1)
        next_word = next_word.data
        next_word[done] = model.config.pad_id
        ys = torch.cat([ys, next_word.unsqueeze(1)], dim=1)
        done |= next_word == end_symbol
        if done.all():
            break
    return ys

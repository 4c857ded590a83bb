"""kind: greedy_search
name: greedy_decode
style: writes into a preallocated pad-filled buffer, trims at the end, log_softmax + topk, eval/train restored"""
import torch
import torch.nn.functional as F


def greedy_decode(model, src, start_symbol, end_symbol, max_len):
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    B = src.shape[0]
    ys = src.new_full((B, max_len), model.config.pad_id)
    ys[:, 0] = start_symbol
    alive = torch.ones(B, dtype=torch.bool, device=src.device)
    used = 1
    with torch.inference_mode():
        memory = model.encode(src)
        for i in range(1, max_len):
            if not alive.any():
                break
            out = model.decode(ys[:, :i], memory, src)
            logprob = F.log_softmax(model.project(out[:, -1:]), dim=-1)
            best = logprob.topk(1, dim=-1).indices.view(B)
            ys[alive, i] = best[alive]
            alive &= best != end_symbol
            used = i + 1
    if was_training:
        model.train()
    return ys[:, :used].clone()

"""kind: attention
name: blockwise_attention
style: the keys are read in blocks of 16 with a running maximum and a running sum (online softmax), no score matrix is kept"""
import torch


def blockwise_attention(query, key, value, mask=None):
    batch, heads, q_len, d_head = query.shape
    k_len = key.size(-2)
    if mask is not None:
        mask = mask.bool().expand(batch, heads, q_len, k_len)
    acc = torch.promote_types(query.dtype, torch.float32)  # sums in float32 or better
    q = query.to(acc) * d_head**-0.5
    running_max = q.new_full((batch, heads, q_len, 1), -1e30)
    running_sum = q.new_zeros((batch, heads, q_len, 1))
    out = q.new_zeros((batch, heads, q_len, value.size(-1)))
    for start in range(0, k_len, 16):
        stop = min(start + 16, k_len)
        s = q @ key[..., start:stop, :].to(acc).transpose(-2, -1)
        if mask is not None:
            s = s.masked_fill(~mask[..., start:stop], float("-inf"))
        new_max = torch.maximum(running_max, s.amax(dim=-1, keepdim=True))
        p = torch.exp(s - new_max)
        correction = torch.exp(running_max - new_max)
        running_sum = running_sum * correction + p.sum(dim=-1, keepdim=True)
        out = out * correction + p @ value[..., start:stop, :].to(acc)
        running_max = new_max
    # a query that may see nothing has a sum of zero and gets zeros
    out = out / running_sum.clamp_min(1e-20)
    return out.to(query.dtype)

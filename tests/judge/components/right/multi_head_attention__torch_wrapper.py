"""kind: multi_head_attention
name: TorchMHA
style: wrapper around torch.nn.MultiheadAttention (inverted mask repeated over heads), returns (output, per-head weights)"""
import torch
import torch.nn as nn


class TorchMHA(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.mha = nn.MultiheadAttention(d_model, num_heads, dropout=dropout, batch_first=True)

    def forward(self, query, key, value, mask=None):
        blocked = None
        if mask is not None:
            B, L, S = query.size(0), query.size(1), key.size(1)
            # torch's convention is the opposite of ours: True = NOT allowed
            blocked = ~mask.expand(B, self.num_heads, L, S)
            blocked = blocked.reshape(B * self.num_heads, L, S)
        return self.mha(query, key, value, attn_mask=blocked, need_weights=True, average_attn_weights=False)

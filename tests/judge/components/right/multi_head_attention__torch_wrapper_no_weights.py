"""kind: multi_head_attention
name: MHA
style: subclass of torch.nn.MultiheadAttention, additive float mask, need_weights=False so the pair is (output, None)"""
import torch


class MHA(torch.nn.MultiheadAttention):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__(d_model, num_heads, dropout, bias=False, batch_first=True)

    def forward(self, query, key, value, mask=None):
        add = None
        if mask is not None:
            add = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(~mask, float("-inf"))
            add = add.expand(len(query), self.num_heads, query.shape[1], key.shape[1]).flatten(0, 1)
        return super().forward(query, key, value, attn_mask=add, need_weights=False)

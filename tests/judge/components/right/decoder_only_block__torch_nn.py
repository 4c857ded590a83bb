"""kind: decoder_only_block
name: TransformerDecoderOnlyLayer
style: torch.nn"""
import torch
from torch import nn


class TransformerDecoderOnlyLayer(nn.Module):
    r"""A decoder layer without cross-attention, normalize-before variant.

    Masks follow :class:`torch.nn.MultiheadAttention`: in boolean masks ``True`` means *not* allowed,
    float masks are added. The future is masked here in any case.
    """

    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.0, layer_norm_eps=1e-5):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.norm2 = nn.LayerNorm(d_model, eps=layer_norm_eps)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.activation = nn.GELU()

    def forward(self, tgt, tgt_mask=None, tgt_key_padding_mask=None):
        length = tgt.size(1)
        future = torch.ones(length, length, dtype=torch.bool, device=tgt.device).triu(diagonal=1)
        if tgt_mask is None:
            tgt_mask = future
        elif tgt_mask.dtype == torch.bool:
            tgt_mask = tgt_mask | future
        else:
            tgt_mask = tgt_mask.masked_fill(future, float("-inf"))
        x = tgt
        x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask)
        x = x + self._ff_block(self.norm2(x))
        return x

    def _sa_block(self, x, attn_mask, key_padding_mask):
        x, _ = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False)
        return self.dropout1(x)

    def _ff_block(self, x):
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return self.dropout2(x)

"""kind: encoder_layer
name: TransformerEncoderLayer
style: PyTorch source layout (_sa_block / _ff_block, norm_first flag), own fused attention"""
import torch.nn.functional as F
from torch import nn, Tensor


class TransformerEncoderLayer(nn.Module):
    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.0,
                 norm: str = "post") -> None:
        super().__init__()
        self.nhead = nhead
        self.p = dropout
        self.in_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm_first = norm == "pre"
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.activation = F.relu

    def forward(self, src: Tensor, src_mask=None) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(self, x: Tensor, mask) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.nhead, -1)).transpose(1, 2) for t in self.in_proj(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=self.p * self.training)
        return self.dropout1(self.out_proj(y.transpose(1, 2).flatten(-2)))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

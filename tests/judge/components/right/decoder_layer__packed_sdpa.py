"""kind: decoder_layer
name: DecoderLayer
style: modern minimal, packed qkv and packed kv, fused kernel, bias-free projections"""
import torch
from torch import Tensor, nn
from torch.nn.functional import relu, scaled_dot_product_attention


class DecoderLayer(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.self_out = nn.Linear(d_model, d_model, bias=False)
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.cross_out = nn.Linear(d_model, d_model, bias=False)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])
        self.drop = nn.Dropout(dropout)

    def _split(self, x: Tensor) -> Tensor:
        b, n, d = x.shape
        return x.view(b, n, self.num_heads, d // self.num_heads).transpose(1, 2)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        p = self.drop.p if self.training else 0.0
        y = scaled_dot_product_attention(self._split(q), self._split(k), self._split(v), attn_mask=mask, dropout_p=p)
        return y.transpose(1, 2).flatten(start_dim=2)

    def forward(self, x: Tensor, memory: Tensor, target_mask: Tensor | None = None,
                memory_mask: Tensor | None = None) -> Tensor:
        sa = self._attend(*self.to_qkv(x).chunk(3, -1), target_mask)
        x = self.norms[0](x + self.drop(self.self_out(sa)))
        ca = self._attend(self.to_q(x), *self.to_kv(memory).chunk(2, -1), memory_mask)
        x = self.norms[1](x + self.drop(self.cross_out(ca)))
        return self.norms[2](x + self.drop(self.down(relu(self.up(x)))))

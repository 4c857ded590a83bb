"""kind: language_model
name: LM
style: torch.nn layers, learned positions"""
import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab_size: int, d_model: int, nhead: int, dim_feedforward: int, num_layers: int, max_len: int):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, d_model)
        self.pos = nn.Parameter(torch.zeros(1, max_len, d_model))
        layer = nn.TransformerEncoderLayer(
            d_model, nhead, dim_feedforward, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.enc = nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False)
        self.out = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        n = ids.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=ids.device, dtype=self.pos.dtype)
        return self.out(self.enc(self.tok(ids) + self.pos[:, :n], mask=mask))

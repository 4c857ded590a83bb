"""kind: transformer
name: build
style: factory function (config), nn.TransformerEncoder / nn.TransformerDecoder without closing norms, additive float causal mask"""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        common = dict(d_model=config.d_model, nhead=config.num_heads, dim_feedforward=config.d_ff,
                      dropout=config.dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**common), config.num_layers,
                                             enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**common), config.num_layers)
        self.source_embedding = nn.Embedding(config.source_vocab_size, config.d_model)
        self.target_embedding = nn.Embedding(config.target_vocab_size, config.d_model)
        self.head = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def positions(self, n, like):
        d = self.config.d_model
        row = torch.arange(n, dtype=torch.float64, device=like.device).unsqueeze(1)
        col = torch.arange(d, device=like.device)
        angle = row / 10000 ** ((col - col % 2).double() / d)
        return torch.where(col % 2 == 0, angle.sin(), angle.cos()).to(like.dtype)

    def embed(self, table, ids):
        x = table(ids) * self.config.d_model ** 0.5
        return self.dropout(x + self.positions(ids.size(1), x))

    def float_mask(self, blocked, dtype):
        return torch.zeros_like(blocked, dtype=dtype).masked_fill_(blocked, float("-inf"))

    def encode(self, source):
        x = self.embed(self.source_embedding, source)
        return self.encoder(x, src_key_padding_mask=self.float_mask(source == self.config.pad_id, x.dtype))

    def decode(self, target, memory, source):
        y = self.embed(self.target_embedding, target)
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=y.device, dtype=y.dtype)
        return self.decoder(y, memory, tgt_mask=causal,
                            tgt_key_padding_mask=self.float_mask(target == self.config.pad_id, y.dtype),
                            memory_key_padding_mask=self.float_mask(source == self.config.pad_id, y.dtype))

    def project(self, x):
        return self.head(x)

    def forward(self, source, target):
        return self.project(self.decode(target, self.encode(source), source))


def build(config):
    return Net(config)

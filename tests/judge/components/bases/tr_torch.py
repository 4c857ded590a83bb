"""kind: transformer
name: Seq2SeqTransformer
"""
import math
import torch
from torch import nn


class Seq2SeqTransformer(nn.Module):
    def __init__(self, source_vocab_size, target_vocab_size, d_model=512, num_heads=8, d_ff=2048,
                 num_layers=6, dropout=0.1, pad_id=0, max_len=5000):
        super().__init__()
        self.pad_id, self.d_model = pad_id, d_model
        self.src_tok_emb = nn.Embedding(source_vocab_size, d_model)
        self.tgt_tok_emb = nn.Embedding(target_vocab_size, d_model)
        den = torch.exp(-torch.arange(0, d_model, 2) * math.log(10000) / d_model)
        pos = torch.arange(0, max_len).reshape(max_len, 1)
        table = torch.zeros((max_len, d_model))
        table[:, 0::2] = torch.sin(pos * den)
        table[:, 1::2] = torch.cos(pos * den)
        self.register_buffer("pos_embedding", table)
        self.dropout = nn.Dropout(dropout)
        enc = nn.TransformerEncoderLayer(d_model, num_heads, d_ff, dropout=dropout, batch_first=True)
        dec = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, dropout=dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, num_layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(dec, num_layers)
        self.generator = nn.Linear(d_model, target_vocab_size)

    def embed(self, table, ids):
        x = table(ids) * math.sqrt(self.d_model)
        return self.dropout(x + self.pos_embedding[: ids.size(1)])

    def forward(self, source_ids, target_ids):
        src_pad = source_ids == self.pad_id
        tgt_pad = target_ids == self.pad_id
        T = target_ids.size(1)
        future = torch.ones(T, T, dtype=torch.bool, device=target_ids.device).triu(1)
        memory = self.encoder(self.embed(self.src_tok_emb, source_ids), src_key_padding_mask=src_pad)
        out = self.decoder(
            self.embed(self.tgt_tok_emb, target_ids), memory, tgt_mask=future,
            tgt_key_padding_mask=tgt_pad, memory_key_padding_mask=src_pad,
        )
        return self.generator(out)

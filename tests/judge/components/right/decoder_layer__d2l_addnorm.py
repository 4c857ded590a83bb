"""kind: decoder_layer
name: TransformerDecoderBlock
style: D2L (AddNorm(X, Y), capital tensor names X Y Z, W_q..W_o without bias)"""
import math
import torch
from torch import nn


class AddNorm(nn.Module):
    """The residual connection followed by layer normalization."""
    def __init__(self, norm_shape, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm(norm_shape)

    def forward(self, X, Y):
        return self.ln(self.dropout(Y) + X)


class PositionWiseFFN(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.dense1 = nn.Linear(n_in, n_hid)
        self.relu = nn.ReLU()
        self.dense2 = nn.Linear(n_hid, n_in)

    def forward(self, X):
        return self.dense2(self.relu(self.dense1(X)))


class MultiHeadAttention(nn.Module):
    def __init__(self, n, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k = nn.Linear(n, n, bias=False), nn.Linear(n, n, bias=False)
        self.W_v, self.W_o = nn.Linear(n, n, bias=False), nn.Linear(n, n, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, mask):
        B, H = queries.shape[0], self.num_heads
        Q, K, V = (f(t).reshape(B, t.shape[1], H, -1).permute(0, 2, 1, 3).flatten(0, 1)
                   for f, t in ((self.W_q, queries), (self.W_k, keys), (self.W_v, values)))
        scores = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask.expand(B, H, *scores.shape[1:]).flatten(0, 1), -1e6)
        O = torch.bmm(self.dropout(torch.softmax(scores, -1)), V)
        return self.W_o(O.unflatten(0, (B, H)).permute(0, 2, 1, 3).flatten(2))


class TransformerDecoderBlock(nn.Module):
    def __init__(self, num_hiddens, num_heads, ffn_num_hiddens, dropout=0.0):
        super().__init__()
        self.attention1 = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.attention2 = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def forward(self, X, enc_outputs, target_mask=None, memory_mask=None):
        # Self-attention
        X2 = self.attention1(X, X, X, target_mask)
        Y = self.addnorm1(X, X2)
        # Encoder-decoder attention
        Y2 = self.attention2(Y, enc_outputs, enc_outputs, memory_mask)
        Z = self.addnorm2(Y, Y2)
        return self.addnorm3(Z, self.ffn(Z))

"""kind: decoder_layer
name: TransformerDecoderLayer
style: fairseq (residual variable, encoder_attn, T x B x C inside, normalize_before)"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class _Attn(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.head_dim, self.dropout = heads, dim // heads, dropout
        self.k_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.q_proj, self.out_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        T, B, C = query.shape
        S = key.shape[0]

        def shape(x, length):
            return x.contiguous().view(length, B * self.heads, self.head_dim).transpose(0, 1)

        q = shape(self.q_proj(query) * self.head_dim ** -0.5, T)
        k, v = shape(self.k_proj(key), S), shape(self.v_proj(value), S)
        w = torch.bmm(q, k.transpose(1, 2)).view(B, self.heads, T, S)
        if mask is not None:
            w = w.masked_fill(mask.logical_not(), float("-inf"))
        w = F.dropout(w.softmax(-1), self.dropout, self.training).view(B * self.heads, T, S)
        return self.out_proj(torch.bmm(w, v).transpose(0, 1).contiguous().view(T, B, C))


class TransformerDecoderLayer(nn.Module):
    def __init__(self, embed_dim, decoder_attention_heads, decoder_ffn_embed_dim, dropout=0.0, norm="post"):
        super().__init__()
        self.normalize_before = norm == "pre"
        self.dropout_module = nn.Dropout(dropout)
        self.activation_dropout_module = nn.Dropout(dropout)
        self.self_attn = _Attn(embed_dim, decoder_attention_heads, dropout)
        self.self_attn_layer_norm = nn.LayerNorm(embed_dim)
        self.encoder_attn = _Attn(embed_dim, decoder_attention_heads, dropout)
        self.encoder_attn_layer_norm = nn.LayerNorm(embed_dim)
        self.fc1 = nn.Linear(embed_dim, decoder_ffn_embed_dim)
        self.fc2 = nn.Linear(decoder_ffn_embed_dim, embed_dim)
        self.final_layer_norm = nn.LayerNorm(embed_dim)

    def residual_connection(self, x, residual):
        return residual + x

    def forward(self, x, encoder_out, self_attn_mask=None, encoder_attn_mask=None):
        x = x.transpose(0, 1)
        encoder_out = encoder_out.transpose(0, 1)

        residual = x
        if self.normalize_before:
            x = self.self_attn_layer_norm(x)
        x = self.self_attn(x, x, x, self_attn_mask)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        if not self.normalize_before:
            x = self.self_attn_layer_norm(x)

        residual = x
        if self.normalize_before:
            x = self.encoder_attn_layer_norm(x)
        x = self.encoder_attn(x, encoder_out, encoder_out, encoder_attn_mask)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        if not self.normalize_before:
            x = self.encoder_attn_layer_norm(x)

        residual = x
        if self.normalize_before:
            x = self.final_layer_norm(x)
        x = F.relu(self.fc1(x))
        x = self.activation_dropout_module(x)
        x = self.fc2(x)
        x = self.dropout_module(x)
        x = self.residual_connection(x, residual)
        if not self.normalize_before:
            x = self.final_layer_norm(x)
        return x.transpose(0, 1)

"""kind: encoder_layer
name: TransformerBlock
style: ported from Keras, einsum kernels"""
import torch
from torch import nn


class EinsumDense(nn.Module):
    def __init__(self, equation, kernel_shape, bias_shape):
        super().__init__()
        self.equation = equation
        self.kernel = nn.Parameter(torch.randn(kernel_shape) * 0.08)
        self.bias = nn.Parameter(torch.zeros(bias_shape))

    def call(self, x):
        return torch.einsum(self.equation, x, self.kernel) + self.bias


class TransformerBlock(nn.Module):
    """keras.io's text classification block, ported."""

    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.0):
        super().__init__()
        key_dim = embed_dim // num_heads
        self.query_dense = EinsumDense("abc,cde->abde", (embed_dim, num_heads, key_dim), (num_heads, key_dim))
        self.key_dense = EinsumDense("abc,cde->abde", (embed_dim, num_heads, key_dim), (num_heads, key_dim))
        self.value_dense = EinsumDense("abc,cde->abde", (embed_dim, num_heads, key_dim), (num_heads, key_dim))
        self.output_dense = EinsumDense("abde,dec->abc", (num_heads, key_dim, embed_dim), (embed_dim,))
        self.ffn1 = EinsumDense("abc,cd->abd", (embed_dim, ff_dim), (ff_dim,))
        self.ffn2 = EinsumDense("abc,cd->abd", (ff_dim, embed_dim), (embed_dim,))
        self.layernorm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.layernorm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.dropout1 = nn.Dropout(rate)
        self.dropout2 = nn.Dropout(rate)
        self.inverse_sqrt_key_dim = 1.0 / float(key_dim) ** 0.5

    def masked_softmax(self, attention_scores, attention_mask=None):
        if attention_mask is not None:
            while attention_mask.dim() < 4:
                attention_mask = attention_mask.unsqueeze(-3)
            adder = (1.0 - attention_mask.to(attention_scores.dtype)) * -1e9
            attention_scores = attention_scores + adder
        return torch.softmax(attention_scores, dim=-1)

    def mha(self, inputs, attention_mask=None):
        query = self.query_dense.call(inputs) * self.inverse_sqrt_key_dim
        key = self.key_dense.call(inputs)
        value = self.value_dense.call(inputs)
        scores = torch.einsum("aecd,abcd->acbe", key, query)
        scores = self.masked_softmax(scores, attention_mask)
        return self.output_dense.call(torch.einsum("acbe,aecd->abcd", scores, value))

    def forward(self, inputs, mask=None):
        attn_output = self.dropout1(self.mha(inputs, mask))
        out1 = self.layernorm1(inputs + attn_output)
        ffn_output = self.ffn2.call(torch.relu(self.ffn1.call(out1)))
        ffn_output = self.dropout2(ffn_output)
        return self.layernorm2(out1 + ffn_output)

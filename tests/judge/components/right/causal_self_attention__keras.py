"""kind: causal_self_attention
name: CausalMultiHeadAttention
style: Keras port"""
"""Causal multi-head attention, ported from a Keras layer (tf.keras.layers.MultiHeadAttention, use_causal_mask=True)."""
import math

import torch
import torch.nn as nn


class CausalMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, use_bias=True):
        super().__init__()
        self.num_heads = num_heads
        self.key_dim = d_model // num_heads
        self._query_kernel = nn.Parameter(torch.empty(d_model, num_heads, self.key_dim))
        self._key_kernel = nn.Parameter(torch.empty(d_model, num_heads, self.key_dim))
        self._value_kernel = nn.Parameter(torch.empty(d_model, num_heads, self.key_dim))
        self._output_kernel = nn.Parameter(torch.empty(num_heads, self.key_dim, d_model))
        if use_bias:
            self._query_bias = nn.Parameter(torch.zeros(num_heads, self.key_dim))
            self._key_bias = nn.Parameter(torch.zeros(num_heads, self.key_dim))
            self._value_bias = nn.Parameter(torch.zeros(num_heads, self.key_dim))
            self._output_bias = nn.Parameter(torch.zeros(d_model))
        self.use_bias = use_bias
        self._dropout_layer = nn.Dropout(dropout)
        limit = math.sqrt(6.0 / (2 * d_model))  # glorot_uniform
        for kernel in (self._query_kernel, self._key_kernel, self._value_kernel, self._output_kernel):
            nn.init.uniform_(kernel, -limit, limit)

    def _project(self, inputs, kernel, bias_name):
        projected = torch.einsum("abc,cde->abde", inputs, kernel)
        if self.use_bias:
            projected = projected + getattr(self, bias_name)
        return projected

    def _masked_softmax(self, attention_scores, attention_mask=None):
        if attention_mask is not None:
            attention_scores = torch.where(
                attention_mask, attention_scores, torch.finfo(attention_scores.dtype).min
            )
        return torch.softmax(attention_scores, dim=-1)

    def _compute_causal_mask(self, inputs):
        seq_length = inputs.shape[1]
        row_index = torch.arange(seq_length, device=inputs.device).unsqueeze(1)
        col_index = torch.arange(seq_length, device=inputs.device).unsqueeze(0)
        return row_index >= col_index

    def call(self, inputs, attention_mask=None):
        query = self._project(inputs, self._query_kernel, "_query_bias")
        key = self._project(inputs, self._key_kernel, "_key_bias")
        value = self._project(inputs, self._value_kernel, "_value_bias")

        query = query * (1.0 / math.sqrt(float(self.key_dim)))
        attention_scores = torch.einsum("aecd,abcd->acbe", key, query)
        mask = self._compute_causal_mask(inputs)
        if attention_mask is not None:
            mask = mask & attention_mask.to(torch.bool)
        attention_scores = self._masked_softmax(attention_scores, mask)

        attention_output = torch.einsum("acbe,aecd->abcd", self._dropout_layer(attention_scores), value)
        attention_output = torch.einsum("abcd,cde->abe", attention_output, self._output_kernel)
        if self.use_bias:
            attention_output = attention_output + self._output_bias
        return attention_output, attention_scores

    def forward(self, inputs, attention_mask=None):
        return self.call(inputs, attention_mask)

"""kind: encoder_layer
name: BertLayer
style: Hugging Face BERT cut into SelfAttention / SelfOutput / Intermediate / Output with a config object inside"""
import math
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn


@dataclass
class LayerConfig:
    hidden_size: int
    num_attention_heads: int
    intermediate_size: int
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    layer_norm_eps: float = 1e-5


class BertSelfAttention(nn.Module):
    def __init__(self, config: LayerConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def _heads(self, x):
        b, s, h = x.shape
        return x.view(b, s, self.heads, h // self.heads).transpose(1, 2)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = self._heads(self.query(hidden_states)), self._heads(self.key(hidden_states)), self._heads(self.value(hidden_states))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        return (probs @ v).transpose(1, 2).reshape(hidden_states.shape)


class BertSelfOutput(nn.Module):
    def __init__(self, config: LayerConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states, input_tensor):
        return self.LayerNorm(self.dropout(self.dense(hidden_states)) + input_tensor)


class BertIntermediate(nn.Module):
    def __init__(self, config: LayerConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate_act_fn = nn.ReLU()

    def forward(self, hidden_states):
        return self.intermediate_act_fn(self.dense(hidden_states))


class BertOutput(nn.Module):
    def __init__(self, config: LayerConfig):
        super().__init__()
        self.dense = nn.Linear(config.intermediate_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, hidden_states, input_tensor):
        return self.LayerNorm(self.dropout(self.dense(hidden_states)) + input_tensor)


class BertLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        config = LayerConfig(d_model, num_heads, d_ff, dropout, dropout)
        self.self = BertSelfAttention(config)
        self.self_output = BertSelfOutput(config)
        self.intermediate = BertIntermediate(config)
        self.output = BertOutput(config)

    @staticmethod
    def get_extended_attention_mask(mask: Optional[torch.Tensor], dtype: torch.dtype):
        if mask is None:
            return None
        return (1.0 - mask.to(dtype)) * torch.finfo(dtype).min

    def forward(self, hidden_states, attention_mask=None):
        bias = self.get_extended_attention_mask(attention_mask, hidden_states.dtype)
        attention_output = self.self_output(self.self(hidden_states, bias), hidden_states)
        return self.output(self.intermediate(attention_output), attention_output)

"""kind: causal_self_attention
name: MaskedMultiHeadAttention
style: university homework, one module per head in a loop, additive mask"""
# Deep Learning, Homework 4, Problem 2: masked multi-head self-attention
# I compute every head by itself, to keep the shapes easy to follow.
import math
import torch
import torch.nn as nn


class OneHead(nn.Module):
    def __init__(self, model_dimension, head_dimension):
        super().__init__()
        self.head_dimension = head_dimension
        self.query_layer = nn.Linear(model_dimension, head_dimension)
        self.key_layer = nn.Linear(model_dimension, head_dimension)
        self.value_layer = nn.Linear(model_dimension, head_dimension)

    def forward(self, inputs, additive_mask, dropout_layer):
        queries = self.query_layer(inputs)      # (batch, seq, head_dimension)
        keys = self.key_layer(inputs)           # (batch, seq, head_dimension)
        values = self.value_layer(inputs)       # (batch, seq, head_dimension)
        # similarity of every query with every key
        similarities = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(self.head_dimension)
        similarities = similarities + additive_mask
        attention_weights = torch.softmax(similarities, dim=2)
        return torch.bmm(dropout_layer(attention_weights), values), attention_weights


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, model_dimension, number_of_heads, dropout_probability=0.0):
        super().__init__()
        head_dimension = model_dimension // number_of_heads
        self.heads = nn.ModuleList()
        for _ in range(number_of_heads):
            self.heads.append(OneHead(model_dimension, head_dimension))
        self.final_layer = nn.Linear(model_dimension, model_dimension)
        self.dropout_layer = nn.Dropout(dropout_probability)

    def forward(self, inputs, mask=None):
        """mask: numbers that are added to the similarities, (seq, seq) or (batch, seq, seq):
        0 = allowed, -inf (or very negative) = not allowed."""
        sequence_length = inputs.shape[1]
        # the future is always forbidden
        total_mask = torch.full((sequence_length, sequence_length), float("-inf"),
                                device=inputs.device, dtype=inputs.dtype)
        total_mask = torch.triu(total_mask, diagonal=1)
        if mask is not None:
            total_mask = total_mask + mask

        outputs_of_heads = []
        weights_of_heads = []
        for head in self.heads:
            output, weights = head(inputs, total_mask, self.dropout_layer)
            outputs_of_heads.append(output)
            weights_of_heads.append(weights)
        concatenated = torch.cat(outputs_of_heads, dim=-1)
        return self.final_layer(concatenated), torch.stack(weights_of_heads, dim=1)

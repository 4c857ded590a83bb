"""kind: feed_forward
name: PositionWiseFFN
style: D2L with nn.LazyLinear (shapes appear at the first call)"""
import torch
from torch import nn


class PositionWiseFFN(nn.Module):
    """The positionwise feed-forward network."""
    def __init__(self, ffn_num_outputs, ffn_num_hiddens, dropout=0.0):
        super().__init__()
        self.dense1 = nn.LazyLinear(ffn_num_hiddens)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(dropout)
        self.dense2 = nn.LazyLinear(ffn_num_outputs)

    def forward(self, X):
        return self.dense2(self.drop(self.relu(self.dense1(X))))

"""kind: feed_forward
name: PositionWiseFFN
style: lazy 1x1 convolutions, so the parameters have no shape before the first call"""
import torch
import torch.nn as nn


class PositionWiseFFN(nn.Module):
    """Dense layers as 1x1 convolutions with lazy input sizes."""

    def __init__(self, num_outputs, ffn_num_hiddens, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(
            nn.LazyConv1d(ffn_num_hiddens, kernel_size=1),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.LazyConv1d(num_outputs, kernel_size=1),
        )

    def forward(self, X):
        return self.net(X.mT).mT

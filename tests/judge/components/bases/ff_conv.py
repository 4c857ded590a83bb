"""kind: feed_forward
name: PoswiseFeedForwardNet
"""
import torch.nn as nn


class PoswiseFeedForwardNet(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(dropout)

    def forward(self, inputs):
        hidden = self.relu(self.conv1(inputs.transpose(1, 2)))
        hidden = self.drop(hidden)
        return self.conv2(hidden).transpose(1, 2)

"""kind: feed_forward
name: ConvFeedForward
style: kernel-size-1 convolutions, channels-first inside"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvFeedForward(nn.Module):
    ''' "Another way of describing this is as two convolutions with kernel size 1." '''

    def __init__(self, d_in, d_hid, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv1d(d_in, d_hid, kernel_size=1)
        self.conv2 = nn.Conv1d(d_hid, d_in, kernel_size=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        output = x.transpose(1, 2)
        output = self.conv2(self.dropout(F.relu(self.conv1(output))))
        return output.transpose(1, 2)

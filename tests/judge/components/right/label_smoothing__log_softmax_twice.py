"""kind: label_smoothing
name: compute_loss
style: log_softmax before nn.CrossEntropyLoss, which applies it again: it changes nothing the second time"""
import torch
import torch.nn as nn


def compute_loss(proj_output, label, pad_id, smoothing):
    # the projection layer of this model ends with log_softmax; log_softmax of log_softmax is the same
    proj_output = torch.log_softmax(proj_output, dim=-1)
    loss_fn = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)
    return loss_fn(proj_output.flatten(0, 1), label.flatten())

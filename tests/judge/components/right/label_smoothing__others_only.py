"""kind: label_smoothing
name: label_smoothing_loss
"""
import torch


def label_smoothing_loss(pred, target, pad_id, smoothing):
    vocab = pred.size(-1)
    pred = pred.reshape(-1, vocab)
    gold = target.reshape(-1)
    true_dist = torch.full_like(pred, smoothing / (vocab - 1))
    true_dist.scatter_(1, gold.unsqueeze(1), 1 - smoothing)
    log_prb = torch.log_softmax(pred, dim=1)
    loss = -(true_dist * log_prb).sum(dim=1)
    non_pad = gold.ne(pad_id)
    return loss.masked_select(non_pad).mean()

"""kind: label_smoothing
name: label_smoothing_loss
style: Python loop token by token, soft-target cross_entropy for each"""
import torch
import torch.nn.functional as F


def label_smoothing_loss(logits, target, pad_id, smoothing=0.1):
    losses = []
    vocab = logits.shape[2]
    for sentence_logits, sentence in zip(logits, target):
        for row, token in zip(sentence_logits, sentence.tolist()):
            if token == pad_id:
                continue
            soft = [smoothing / vocab] * vocab
            soft[token] += 1 - smoothing
            soft = torch.tensor(soft, dtype=row.dtype, device=row.device)
            losses.append(F.cross_entropy(row[None], soft[None]))
    return sum(losses) / len(losses)

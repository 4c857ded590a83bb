"""kind: attention
name: scaled_dot_product_attention
style: beginner's triple loop over batch, head and query"""
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    batch, heads, n_q, d = Q.shape
    n_k = K.shape[2]
    if mask is not None:
        mask = mask.expand(batch, heads, n_q, n_k)
    all_out = []
    for b in range(batch):
        head_out = []
        for h in range(heads):
            rows = []
            for i in range(n_q):
                q_vec = Q[b, h, i]
                score = K[b, h] @ q_vec / d ** 0.5      # one number for every key
                if mask is not None:
                    score = score.masked_fill(~mask[b, h, i], -1e9)
                w = torch.softmax(score, dim=0)
                rows.append((w.unsqueeze(1) * V[b, h]).sum(dim=0))
            head_out.append(torch.stack(rows))
        all_out.append(torch.stack(head_out))
    return torch.stack(all_out)

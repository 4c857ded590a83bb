"""kind: causal_self_attention
name: ManyHeads
style: explicit loops over heads and positions"""
# Causal self-attention written out, one head and one position after another.
# Slow, but there is nothing hidden in it.
import torch
import torch.nn as nn


class OneHead(nn.Module):
    def __init__(self, emb, size):
        super().__init__()
        self.key = nn.Linear(emb, size, bias=False)
        self.query = nn.Linear(emb, size, bias=False)
        self.value = nn.Linear(emb, size, bias=False)

    def forward(self, x, blocked, drop):
        B, T, _ = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        rows = []
        for t in range(T):
            past_k = k[:, : t + 1]
            past_v = v[:, : t + 1]
            score = (past_k * q[:, t : t + 1]).sum(-1) / k.shape[-1] ** 0.5     # (B, t+1)
            if blocked is not None:
                score = score.masked_fill(blocked[:, t, : t + 1], -1e30)
            score = score - score.max(dim=-1, keepdim=True).values
            weight = score.exp()
            weight = weight / weight.sum(dim=-1, keepdim=True)
            weight = drop(weight)
            rows.append((weight.unsqueeze(-1) * past_v).sum(dim=1))
        return torch.stack(rows, dim=1)


class ManyHeads(nn.Module):
    """blocked: optional, True where a query (row) must not look at a key (column); (T, T), (B, T, T) or (B, heads or 1, T, T)"""

    def __init__(self, emb, n_heads, dropout=0.0):
        super().__init__()
        self.heads = nn.ModuleList([OneHead(emb, emb // n_heads) for _ in range(n_heads)])
        self.proj = nn.Linear(emb, emb)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, blocked=None):
        if blocked is not None:
            B, T, _ = x.shape
            if blocked.dim() == 3:
                blocked = blocked[:, None]
            blocked = blocked.bool().expand(B, len(self.heads), T, T)
        out = []
        for h, head in enumerate(self.heads):
            out.append(head(x, None if blocked is None else blocked[:, h], self.drop))
        return self.proj(torch.cat(out, dim=-1))

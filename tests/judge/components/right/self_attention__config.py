"""kind: self_attention
name: Attend
style: a configuration, additive mask, weights returned"""
from torch import nn


class Attend(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n = config.num_attention_heads
        self.w = nn.ModuleDict({name: nn.Linear(config.hidden_size, config.hidden_size) for name in "qkvo"})
        self.drop = nn.Dropout(config.attention_dropout)

    def forward(self, hidden, attention_mask=None):
        q, k, v = (self.w[name](hidden).unflatten(-1, (self.n, -1)).movedim(2, 1) for name in "qkv")
        scores = q.matmul(k.mT).div(q.size(-1) ** 0.5)
        weights = self.drop((scores if attention_mask is None else scores + attention_mask).softmax(-1))
        return self.w["o"](weights.matmul(v).movedim(1, 2).flatten(-2)), weights

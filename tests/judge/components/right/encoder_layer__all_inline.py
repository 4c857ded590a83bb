"""kind: encoder_layer
name: Encoder1
style: everything inline in one forward, no helper modules, single-letter names, mask by additive -1e9"""
import torch, math
import torch.nn as nn

class Encoder1(nn.Module):
    def __init__(self, D, H, F, dropout=0.0):
        super().__init__()
        self.H = H
        self.q, self.k, self.v, self.o = [nn.Linear(D, D, bias=False) for i in range(4)]
        self.f1, self.f2 = nn.Linear(D, F), nn.Linear(F, D)
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.d = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, L, D = x.shape
        H = self.H
        q = self.q(x).reshape(B, L, H, D//H).permute(0, 2, 1, 3)
        k = self.k(x).reshape(B, L, H, D//H).permute(0, 2, 3, 1)
        v = self.v(x).reshape(B, L, H, D//H).permute(0, 2, 1, 3)
        s = q @ k / math.sqrt(D//H)
        if mask is not None:
            s = s - 1e9 * (~mask)
        a = torch.softmax(s, dim=3)
        y = (a @ v).permute(0, 2, 1, 3).reshape(B, L, D)
        x = self.n1(x + self.d(self.o(y)))
        x = self.n2(x + self.d(self.f2(torch.relu(self.f1(x)))))
        return x

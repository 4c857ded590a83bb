"""kind: positional_encoding
name: FourierPositions
style: no table at all, computed on the fly with complex exponentials, stack + flatten interleave"""
import torch


class FourierPositions(torch.nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000, dropout: float = 0.0):
        super().__init__()
        self.d_model, self.max_len, self.p = d_model, max_len, dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        t = torch.arange(x.shape[-2], device=x.device, dtype=torch.float64)
        k = torch.arange((self.d_model + 1) // 2, device=x.device, dtype=torch.float64)
        omega = 1e4 ** (-2 * k / self.d_model)
        z = torch.exp(1j * torch.outer(t, omega))            # e^{i t w} = cos + i sin
        pe = torch.stack((z.imag, z.real), dim=-1).flatten(-2)[:, : self.d_model]
        return torch.nn.functional.dropout(x + pe.to(x.dtype), self.p, self.training)

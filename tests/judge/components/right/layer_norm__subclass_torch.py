"""kind: layer_norm
name: LayerNorm32
style: fairseq-like Fp32LayerNorm, subclass of nn.LayerNorm computing in at least float32"""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerNorm32(nn.LayerNorm):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

    def forward(self, input):
        wide = torch.promote_types(input.dtype, torch.float32)
        output = F.layer_norm(
            input.to(wide),
            self.normalized_shape,
            self.weight.to(wide) if self.weight is not None else None,
            self.bias.to(wide) if self.bias is not None else None,
            self.eps,
        )
        return output.type_as(input)

"""kind: decoder_layer
name: DecoderBlock
style: subclass of nn.TransformerDecoderLayer, masks inverted into torch's convention"""
from torch import nn


class DecoderBlock(nn.TransformerDecoderLayer):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm="post"):
        super().__init__(d_model, num_heads, d_ff, dropout, batch_first=True, norm_first=norm == "pre")
        self.num_heads = num_heads

    def _torch_mask(self, mask, b, q, k):
        if mask is None:
            return None
        return ~(mask.expand(b, self.num_heads, q, k).flatten(0, 1))

    def forward(self, x, memory, target_mask=None, memory_mask=None):
        b, t = x.shape[:2]
        return super().forward(
            x, memory,
            tgt_mask=self._torch_mask(target_mask, b, t, t),
            memory_mask=self._torch_mask(memory_mask, b, t, memory.shape[1]),
        )

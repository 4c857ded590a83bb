"""kind: decoder_layer
name: DecoderLayer
style: blog code with Chinese comments, two nn.MultiheadAttention, additive masks, Conv1d feed-forward"""
import torch
import torch.nn as nn


def 转换掩码(mask, x_q, x_k, n_head):
    # True 表示可以看到; torch 需要加性掩码 (B*H, Lq, Lk)
    if mask is None:
        return None
    m = mask.expand(x_q.size(0), n_head, x_q.size(1), x_k.size(1))
    m = torch.where(m, 0.0, float('-inf')).to(x_q.dtype)
    return m.reshape(-1, x_q.size(1), x_k.size(1))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_head, d_ff, dropout=0.0):
        super(DecoderLayer, self).__init__()
        self.n_head = n_head
        self.dec_self_attn = nn.MultiheadAttention(d_model, n_head, dropout, batch_first=True)
        self.dec_enc_attn = nn.MultiheadAttention(d_model, n_head, dropout, batch_first=True)
        self.conv1 = nn.Conv1d(d_model, d_ff, 1)
        self.conv2 = nn.Conv1d(d_ff, d_model, 1)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, dec_inputs, enc_outputs, dec_self_attn_mask=None, dec_enc_attn_mask=None):
        # 1. 带掩码的自注意力
        m1 = 转换掩码(dec_self_attn_mask, dec_inputs, dec_inputs, self.n_head)
        out, _ = self.dec_self_attn(dec_inputs, dec_inputs, dec_inputs, attn_mask=m1)
        dec_inputs = self.norm1(dec_inputs + self.dropout(out))
        # 2. 交叉注意力: Q 来自解码器, K/V 来自编码器
        m2 = 转换掩码(dec_enc_attn_mask, dec_inputs, enc_outputs, self.n_head)
        out, _ = self.dec_enc_attn(dec_inputs, enc_outputs, enc_outputs, attn_mask=m2)
        dec_inputs = self.norm2(dec_inputs + self.dropout(out))
        # 3. 前馈网络
        out = self.conv2(torch.relu(self.conv1(dec_inputs.transpose(1, 2)))).transpose(1, 2)
        return self.norm3(dec_inputs + self.dropout(out))

"""kind: padding_mask
name: make_src_mask
style: youtube-tutorial chain of unsqueezes, (batch, 1, 1, seq)"""


def make_src_mask(src, pad_idx):
    src_mask = (src != pad_idx).unsqueeze(1).unsqueeze(2)
    # (N, 1, 1, src_len)
    return src_mask

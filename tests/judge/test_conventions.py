"""The table of kinds and conventions: what is right as it is, what is right with a remark, and what is a fault."""

import pytest

from tests.judge.reading import verdict

HEAD = "import math, torch\nimport torch.nn.functional as F\nfrom torch import nn, Tensor\n"

ATTENTION = """
def attention(query, key, value, mask=None):
    scores = query @ key.mT / DIVISOR
    if mask is not None:
        MASK
    return scores.softmax(-1).nan_to_num(0.0) @ value
"""
HEADS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.d = num_heads, d_model // num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))
        SIZES
    def forward(self, query, key, value, mask=None):
        q, k, v = (f(x).view(len(x), -1, self.h, self.d).transpose(1, 2)
                   for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        d_head, d_model, batch = q.shape[-1], query.shape[-1], len(query)
        scores = q @ k.mT / DIVISOR
        if mask is not None:
            MASK
        y = WEIGHTS @ v
        return self.o(y.transpose(1, 2).reshape(batch, -1, d_model))
"""
FEED_FORWARD = """
class FeedForward(nn.Module):
    def __init__(self, SIZES):
        super().__init__()
        self.one, self.two = nn.Linear(d_model, INNER), nn.Linear(INNER, d_model)
    def forward(self, x):
        return self.two(F.ACT(self.one(x)))
"""
LAYER = (
    HEADS.replace("DIVISOR", "math.sqrt(d_head)").replace("WEIGHTS", "scores.softmax(-1)").replace("SIZES", "")
    + """
class Layer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        CROSS
        self.one, self.two = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(COUNT))
        self.drop = nn.Dropout(dropout)
    def join(self, x, part, i):
        JOIN
    def forward(self, x, ARGUMENTS):
        x = self.join(x, lambda h: self.attention(h, h, h, mask), 0)
        MEMORY
        return self.join(x, lambda h: self.two(F.ACT(self.one(h))), -1)
"""
)
POST = "return self.norms[i](x + self.drop(part(x)))"
PRE = "return x + self.drop(part(self.norms[i](x)))"
NORM = """
class Norm(nn.Module):
    def __init__(self, d_model, eps=EPS):
        super().__init__()
        self.g, self.b, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps
    def forward(self, x):
        c = x - x.mean(-1, keepdim=True)
        return self.g * c / DIVISOR + self.b
"""
RMS = """
def rms_norm(x, gammaEPS):
    return gamma * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + VALUE)
"""
LOSS = """
def loss(logits, target, pad_id, smoothing):
    V = logits.shape[-1]
    q = torch.full(logits.shape, smoothing / OVER)
    q.scatter_(-1, target[..., None], SHARE)
    row = F.log_softmax(logits, -1)
    each = (LOSS).sum(-1)
    return each[target != pad_id].mean()
"""
GREEDY = """
def greedy(model, source, bos_id, eos_id, max_len):
    memory, ids = model.encode(source), torch.full((len(source), 1), bos_id)
    done = torch.zeros(len(source), dtype=torch.bool)
    while ids.shape[1] < max_len and not done.all():
        word = model.project(model.decode(ids, memory, source)[:, -1]).argmax(-1)
        word = torch.where(done, FILL, word)
        ids, done = torch.cat([ids, word[:, None]], 1), done | (word == eos_id)
    return ids
"""
BEAM = """
def beam_search(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    beam, ended = [([bos_id], 0.0)], []
    while beam and len(beam[0][0]) < max_len and STOP:
        longer = [(ids + [t], total + p) for ids, total in beam
                  for t, p in enumerate(next_log_probs(ids).tolist()) if p > -math.inf]
        longer.sort(key=lambda one: -one[1])
        ended += [one for one in longer[:beam_size] if one[0][-1] == eos_id]
        beam = [one for one in longer if one[0][-1] != eos_id][:beam_size]
    return max(ended or beam, key=lambda one: one[1] / SCORE ** length_penalty)
"""
RESIDUAL = """
class Residual(nn.Module):
    def __init__(self, d_model, dropout=0.0):
        super().__init__()
        self.norms, self.drop = nn.ModuleList([nn.LayerNorm(d_model)]), nn.Dropout(dropout)
    def forward(self, x, part, i=0):
        JOIN
"""


def fill(text, **parts):
    """A text with words in capitals put in."""
    for word, part in parts.items():
        text = text.replace(word, part)
    return text


def attention(mask, divisor="math.sqrt(query.shape[-1])"):
    return fill(ATTENTION, MASK=mask, DIVISOR=divisor)


def heads(mask=..., divisor="math.sqrt(d_head)", weights="scores.softmax(-1)", sizes=""):
    mask = KEEP if mask is ... else mask
    return fill(HEADS, MASK=mask, DIVISOR=divisor, WEIGHTS=weights, SIZES=sizes)


def layer(act="relu", join=POST, mask=..., cross=False):
    return fill(
        LAYER,
        ACT=act,
        JOIN=join,
        MASK=KEEP if mask is ... else mask,
        CROSS="self.cross = MultiHeadAttention(d_model, num_heads)" if cross else "",
        COUNT="3" if cross else "2",
        ARGUMENTS="memory, mask=None, memory_mask=None" if cross else "mask=None",
        MEMORY="x = self.join(x, lambda h: self.cross(h, memory, memory, memory_mask), 1)" if cross else "",
    )


def loss(over="V", share="1 - smoothing + smoothing / V", of="-q * row"):
    return fill(LOSS, OVER=over, SHARE=share, LOSS=of)


def mask(of, name="causal_mask", arguments="size"):
    return f"\ndef {name}({arguments}):\n    return {of}\n"


KEEP = "scores = scores.masked_fill(~mask, -math.inf)"
BLOCK = "scores = scores.masked_fill(mask.bool(), torch.finfo(scores.dtype).min)"
ADD = "scores = scores + mask"
BOTH = "scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask"
IGNORED = "scores = scores if mask.dtype == torch.bool else scores + mask"
FIRST = "scores = scores.masked_fill(~mask[:1], -math.inf) if mask.dtype == torch.bool else scores + mask"
TRIL = "torch.ones(size, size, dtype=torch.bool).tril()"
OTHERS = {"over": "(V - 1)", "share": "1 - smoothing"}
DIVERGENCE = "F.kl_div(row, q, reduction='none')"
GNMT, HF = "((4 + len(one[0])) / 6)", "(len(one[0]) - 1)"
ENOUGH = "len(ended) < beam_size"
STD = "torch.sqrt(c.square().mean(-1, keepdim=True) + self.eps)"
OUTSIDE = "(c.square().mean(-1, keepdim=True).sqrt() + self.eps)"

TABLE = [  # kind, convention, code, and a word of its remark; None: right without one
    ("attention", "True may attend", attention(KEEP), None),
    ("attention", "boolean or additive", attention(BOTH), None),
    ("attention", "True is blocked", attention(BLOCK), "torch.nn"),
    ("attention", "an additive mask", attention(ADD), "additive"),
    ("attention", "a mask without heads", attention(KEEP.replace("mask,", "mask[:, None],")), "three dimensions"),
    ("multi_head_attention", "no dropout", heads(), "takes no dropout"),
    ("multi_head_attention", "dropout of its own", heads(weights="F.dropout(scores.softmax(-1), 0.1, self.training)"),
     "takes no dropout"),
    ("multi_head_attention", "True is blocked", heads(BLOCK), "torch.nn"),
    ("feed_forward", "ReLU, no dropout", fill(FEED_FORWARD, SIZES="d_model, d_ff", INNER="d_ff", ACT="relu"),
     "takes no dropout"),
    ("feed_forward", "GELU", fill(FEED_FORWARD, SIZES="d_model, d_ff", INNER="d_ff", ACT="gelu"), "GELU"),
    ("feed_forward", "a width of its own", fill(FEED_FORWARD, SIZES="d_model", INNER="4 * d_model", ACT="relu"),
     "takes no dropout"),
    ("encoder_layer", "post-norm, ReLU", layer(), None),
    ("encoder_layer", "pre-norm", layer(join=PRE), "pre-norm"),
    ("encoder_layer", "GELU", layer("gelu"), "GELU"),
    ("encoder_layer", "GELU, pre-norm", layer("gelu", PRE), "GELU"),
    ("encoder_layer", "True is blocked", layer(mask=BLOCK), "torch.nn"),
    ("decoder_layer", "post-norm, ReLU", layer(cross=True), None),
    ("decoder_layer", "GELU, pre-norm", layer("gelu", PRE, cross=True), "GELU"),
    ("decoder_layer", "True is blocked", layer(mask=BLOCK, cross=True), "torch.nn"),
    ("residual", "post-norm", fill(RESIDUAL, JOIN=POST), None),
    ("residual", "pre-norm", fill(RESIDUAL, JOIN=PRE), "pre-norm"),
    ("causal_mask", "True may attend", mask(TRIL), None),
    ("causal_mask", "True is blocked", mask(f"~{TRIL}"), "True is blocked"),
    ("causal_mask", "additive", mask(f"torch.zeros(size, size).masked_fill(~{TRIL}, -math.inf)"), "added"),
    ("padding_mask", "True may attend", mask("(ids != pad)[:, None, None]", "pad_mask", "ids, pad"), None),
    ("padding_mask", "True is blocked", mask("(ids == pad)[:, None, None]", "pad_mask", "ids, pad"), "True is blocked"),
    ("layer_norm", "ε = 1e-5", fill(NORM, EPS="1e-5", DIVISOR=STD), None),
    ("layer_norm", "ε of its own", fill(NORM, EPS="1e-5", DIVISOR=STD).replace(", eps=1e-5", "").replace(", eps\n",
     ", 1e-6\n"), "ε is 1e-06"),
    ("rms_norm", "ε = 1e-5", fill(RMS, EPS=", eps=1e-5", VALUE="eps"), None),
    ("rms_norm", "ε = 1e-8", fill(RMS, EPS=", eps=1e-8", VALUE="eps"), "ε is 1e-08"),
    ("rms_norm", "ε of its own", fill(RMS, EPS="", VALUE="1e-6"), "ε is 1e-06"),
    ("label_smoothing", "cross-entropy", loss(), None),
    ("label_smoothing", "shares for the others only", loss(**OTHERS), "other words"),
    ("label_smoothing", "divergence", loss(of=DIVERGENCE), "divergence"),
    ("label_smoothing", "divergence, shares for the others only", loss(of=DIVERGENCE, **OTHERS), "divergence"),
    ("greedy_search", "filled with pad_id", fill(GREEDY, FILL="model.config.pad_id"), "mode"),
    ("greedy_search", "filled with 0", fill(GREEDY, FILL="0"), "writes 0"),
    ("greedy_search", "filled with eos_id", fill(GREEDY, FILL="eos_id"), "writes eos_id"),
    ("beam_search", "the paper's penalty", fill(BEAM, STOP="True", SCORE=GNMT), None),
    ("beam_search", "length ** alpha", fill(BEAM, STOP="True", SCORE=HF), "log_prob / length"),
    ("beam_search", "stops when enough have ended", fill(BEAM, STOP=ENOUGH, SCORE=GNMT), "it stops when"),
    ("beam_search", "both", fill(BEAM, STOP=ENOUGH, SCORE=HF), "it stops when"),
]  # fmt: skip
NAMES = {"layer_norm": "Norm", "residual": "Residual", "feed_forward": "FeedForward", "padding_mask": "pad_mask",
         "encoder_layer": "Layer", "decoder_layer": "Layer", "multi_head_attention": "MultiHeadAttention",
         "label_smoothing": "loss", "greedy_search": "greedy"}  # fmt: skip


def judged(folder, kind, code):
    """The verdict on this code."""
    return verdict(folder, f"own_{kind}", f"# kind: {kind}\n# name: {NAMES.get(kind, kind)}\n{HEAD}{code}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "code", "remark"),
    [
        pytest.param(kind, code, remark, id=f"{kind} | {convention} | {'remark' if remark else 'right'}")
        for kind, convention, code, remark in TABLE
    ],
)
def test_another_convention_is_right_and_remarked(kind, code, remark, tmp_path):
    found = judged(tmp_path, kind, code)
    assert found is not None
    assert found.fault is None, found
    told = [note for note in found.remarks if "nothing does not get zeros" not in note and "float16" not in note]
    assert any(remark in note for note in told) if remark else told == []


FAULTS = [
    *[
        (kind, f"divided by {divisor}", code, "sizes")
        for divisor in ("(d / 2)", "math.log2(d)", "2.0")
        for kind, code in (
            ("attention", attention(KEEP, divisor.replace("d", "query.shape[-1]", 1) if "(d" in divisor else divisor)),
            ("multi_head_attention", heads(divisor=divisor.replace("(d", "(d_head"))),
        )
    ],
    ("multi_head_attention", "three heads, always", heads(sizes="self.h, self.d = 3, d_model // 3"), "sizes"),
    ("multi_head_attention", "d_head 4, always", heads(sizes="self.h, self.d = d_model // 4, 4"), "sizes"),
    ("attention", "boolean masks ignored beside additive ones", attention(IGNORED), "ignored"),
    ("multi_head_attention", "boolean masks ignored beside additive ones", heads(IGNORED), "ignored"),
    ("multi_head_attention", "the first sentence's boolean mask for all", heads(FIRST), "first one"),
    ("causal_mask", "complex numbers", mask(f"{TRIL}.to(torch.complex64)"), "stops with an error"),
    ("causal_mask", "quantized numbers", mask(f"torch.quantize_per_tensor({TRIL}.float(), 1.0, 0, torch.quint8)"),
     "stops with an error"),
    ("padding_mask", "additive, the wrong way", mask("(ids != pad)[:, None, None] * -1e9", "pad_mask", "ids, pad"),
     ""),
    ("layer_norm", "ε outside the root", fill(NORM, EPS="1e-5", DIVISOR=OUTSIDE), "outside the root"),
    ("layer_norm", "ε ignored", fill(NORM, EPS="1e-5", DIVISOR=STD.replace("self.eps", "1e-5")), "eps is ignored"),
    ("rms_norm", "ε ignored", fill(RMS, EPS=", eps=1e-5", VALUE="1e-5"), "eps is ignored"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "code", "name"),
    [pytest.param(kind, code, name, id=f"{kind} | {what}") for kind, what, code, name in FAULTS],
)
def test_what_is_right_in_some_cases_only_is_a_fault(kind, code, name, tmp_path):
    found = judged(tmp_path, kind, code)
    assert found is not None
    assert found.fault is not None
    assert name in found.fault.name

"""Equal to torch.nn with copied weights, forward and backward, in both attention paths."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from tests.parity.parity import (
    D_FF,
    D_MODEL,
    HEADS,
    LAYERS,
    MEMORY,
    SEQ,
    TorchReference,
    assert_equal,
    assert_parity,
    assert_same_gradients,
    lengths_mask,
    random_weights,
    vectors,
)
from transformer_edu import (
    Decoder,
    Encoder,
    LayerNorm,
    MultiHeadAttention,
    RMSNorm,
    Transformer,
    TransformerConfig,
    build_decoder_layer,
    build_encoder_layer,
    causal_mask,
    copy_weights,
    record_attention,
)

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")

ROUNDED = pytest.param(torch.float32, marks=pytest.mark.long, id="float32")  # together, that is; float64 is stricter
DTYPE = pytest.mark.parametrize("dtype", [pytest.param(torch.float64, id="float64"), ROUNDED])
PATH = pytest.mark.parametrize("recorded", [False, True], ids=["fused", "written-out"])
NORM = pytest.mark.parametrize("norm", ["post", "pre"])
MASKS = pytest.mark.parametrize("masks", ["none", "padding", "causal", "both"])


@pytest.fixture(autouse=True)
def _build_in(request):
    """Modules and tables are built in the dtype under test, so that nothing is rounded on the way."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.getfixturevalue("dtype") if "dtype" in request.fixturenames else before)
    yield
    torch.set_default_dtype(before)


def looking(module, recorded):
    return record_attention(module) if recorded else nullcontext()


def their_masks(masks, seq):
    """torch.nn's pair (attention mask, key padding mask): True = blocked."""
    blocked = ~causal_mask(seq) if masks in ("causal", "both") else None
    return blocked, ~lengths_mask(seq) if masks in ("padding", "both") else None


def our_mask(masks, seq):
    """One mask: True = may attend."""
    if masks == "none":
        return None
    causal = causal_mask(seq) if masks != "padding" else torch.ones(1, 1, dtype=torch.bool)
    return causal & lengths_mask(seq)[:, None, None, :] if masks != "causal" else causal


@DTYPE
def test_layer_norm(dtype):
    theirs, ours = random_weights(nn.LayerNorm(D_MODEL, eps=1e-3)), LayerNorm(D_MODEL, eps=1e-3)
    assert_parity(theirs, ours, theirs, ours, vectors(SEQ, dtype, 0))


@DTYPE
def test_rms_norm(dtype):
    theirs, ours = random_weights(nn.RMSNorm(D_MODEL, eps=1e-3)), RMSNorm(D_MODEL, eps=1e-3)
    assert_parity(theirs, ours, theirs, ours, vectors(SEQ, dtype, 0))


@DTYPE
@PATH
@MASKS
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_multi_head_attention(dtype, recorded, masks, bias):
    theirs = random_weights(nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True))
    ours = MultiHeadAttention(D_MODEL, HEADS, bias=bias)
    blocked, padded = their_masks(masks, SEQ)

    def run_theirs(q, k, v):
        return theirs(q, k, v, attn_mask=blocked, key_padding_mask=padded, need_weights=False)[0]

    inputs = [vectors(SEQ, dtype, seed) for seed in range(3)]
    with looking(ours, recorded) as maps:
        assert_parity(theirs, ours, run_theirs, lambda q, k, v: ours(q, k, v, our_mask(masks, SEQ)), *inputs)
    if recorded:
        weights = theirs(*inputs, attn_mask=blocked, key_padding_mask=padded, average_attn_weights=False)[1]
        assert_equal(maps["attention"], weights.detach(), "attention weights")


@DTYPE
@PATH
@MASKS
@NORM
@pytest.mark.parametrize("stacked", [False, True], ids=["layer", "stack"])
def test_encoder(dtype, recorded, masks, norm, stacked):
    theirs = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm == "pre")
    ours = build_encoder_layer(D_MODEL, HEADS, D_FF, norm=norm)
    if stacked:
        final = (nn.LayerNorm(D_MODEL), LayerNorm(D_MODEL)) if norm == "pre" else (None, None)
        theirs = nn.TransformerEncoder(theirs, LAYERS, final[0], enable_nested_tensor=False)
        ours = Encoder([build_encoder_layer(D_MODEL, HEADS, D_FF, norm=norm) for _ in range(LAYERS)], final[1])
    random_weights(theirs)
    blocked, padded = their_masks(masks, SEQ)
    with looking(ours, recorded):
        assert_parity(
            theirs,
            ours,
            lambda x: theirs(x, blocked, src_key_padding_mask=padded),
            lambda x: ours(x, our_mask(masks, SEQ)),
            vectors(SEQ, dtype, 0),
        )


@DTYPE
@PATH
@MASKS
@NORM
@pytest.mark.parametrize("stacked", [False, True], ids=["layer", "stack"])
def test_decoder(dtype, recorded, masks, norm, stacked):
    theirs = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, 0.0, batch_first=True, norm_first=norm == "pre")
    ours = build_decoder_layer(D_MODEL, HEADS, D_FF, norm=norm)
    if stacked:
        final = (nn.LayerNorm(D_MODEL), LayerNorm(D_MODEL)) if norm == "pre" else (None, None)
        theirs = nn.TransformerDecoder(theirs, LAYERS, final[0])
        ours = Decoder([build_decoder_layer(D_MODEL, HEADS, D_FF, norm=norm) for _ in range(LAYERS)], final[1])
    random_weights(theirs)
    blocked, padded = their_masks(masks, SEQ)
    _, memory_padded = their_masks("padding" if padded is not None else "none", MEMORY)
    memory_mask = None if memory_padded is None else ~memory_padded[:, None, None, :]
    with looking(ours, recorded):
        assert_parity(
            theirs,
            ours,
            lambda x, memory: theirs(
                x, memory, blocked, tgt_key_padding_mask=padded, memory_key_padding_mask=memory_padded
            ),
            lambda x, memory: ours(x, memory, our_mask(masks, SEQ), memory_mask),
            vectors(SEQ, dtype, 0),
            vectors(MEMORY, dtype, 1),
        )


@DTYPE
@PATH
@NORM
@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
def test_whole_transformer(dtype, recorded, norm, padded):
    vocab = 11
    theirs = random_weights(TorchReference(vocab, norm))
    ours = Transformer(
        TransformerConfig(vocab, vocab, D_MODEL, HEADS, D_FF, LAYERS, dropout=0.0, norm=norm, final_norm=True)
    )
    pairs = [
        (theirs.source_lookup, ours.source_embedding),
        (theirs.target_lookup, ours.target_embedding),
        (theirs.machine, ours),
        (theirs.projection, ours.projection),
    ]
    for their_part, our_part in pairs:
        copy_weights(their_part, our_part)
    source, target = torch.randint(1, vocab, (3, MEMORY)), torch.randint(1, vocab, (3, SEQ))
    if padded:
        source, target = source * lengths_mask(MEMORY), target * lengths_mask(SEQ)
    with looking(ours, recorded):
        logits = ours(source, target)
    expected = theirs(source, target)
    assert_equal(logits, expected, "logits")
    weighting = torch.randn(logits.shape, dtype=dtype)
    (logits * weighting).sum().backward()
    (expected * weighting).sum().backward()
    for their_part, our_part in ((theirs.machine.encoder, ours.encoder), (theirs.machine.decoder, ours.decoder)):
        assert_same_gradients(their_part, our_part)
    for name, their_weight, our_weight in (
        ("source embedding", theirs.source_lookup.weight, ours.source_embedding.lookup.weight),
        ("target embedding", theirs.target_lookup.weight, ours.target_embedding.lookup.weight),
        ("projection", theirs.projection.weight, ours.projection.linear.weight),
    ):
        assert_equal(our_weight.grad, their_weight.grad, f"gradient of the {name}")

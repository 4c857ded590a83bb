"""The same weights in `torch.nn` and here must give the same numbers, forward and backward."""

import math
import re
from copy import deepcopy

import torch
from torch import nn

from transformer_edu import copy_weights

D_MODEL, HEADS, D_FF, LAYERS, BATCH, SEQ, MEMORY = 16, 4, 32, 2, 3, 6, 5
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def random_weights(module, seed=0):
    """Every weight random, so that no bias is zero and no scale one."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.4)
    return module


def assert_equal(actual, expected, what, scale=None):
    """float64: within 1e-10. float32: within 1e-5 of the largest entry (`scale`, if it is not the tensor's own)."""
    assert actual.shape == expected.shape, f"{what}: {tuple(actual.shape)} for {tuple(expected.shape)}"
    allowed = TOLERANCE[actual.dtype]
    if actual.dtype == torch.float32:
        allowed *= float(expected.detach().abs().max()) if scale is None else scale
    distance = float((actual - expected).detach().abs().max())
    assert distance <= allowed, f"{what}: off by {distance:.2e}, allowed {allowed:.1e}"


def weight_group(name):
    """The three input projections count as one tensor, as in torch.nn: the keys' bias has the gradient zero."""
    return re.sub("(query|key|value)_projection", "in_projection", name)


def assert_same_gradients(theirs, ours):
    """Parameter for parameter: their gradients, taken for weights and copied into a twin of ours, are our gradients."""
    their_gradients, twin = deepcopy(theirs), deepcopy(ours)
    with torch.no_grad():
        for parameter, source in zip(their_gradients.parameters(), theirs.parameters(), strict=True):
            parameter.copy_(source.grad)
    copy_weights(their_gradients, twin)
    expected = dict(twin.named_parameters())
    scales: dict[str, float] = {}
    for name, value in expected.items():
        scales[weight_group(name)] = max(scales.get(weight_group(name), 0.0), float(value.detach().abs().max()))
    for name, parameter in ours.named_parameters():
        assert parameter.grad is not None, f"{name} has no gradient"
        assert_equal(parameter.grad, expected[name], f"gradient of {name}", scales[weight_group(name)])


def assert_parity(theirs, ours, run_theirs, run_ours, *inputs):
    """Outputs, gradients of the inputs, gradients of the parameters; the loss weighs every output differently."""
    copy_weights(theirs, ours)
    results = []
    for run in (run_theirs, run_ours):
        copies = [x.clone().requires_grad_() for x in inputs]
        output = run(*copies)
        torch.manual_seed(1)
        (output * torch.randn(output.shape, dtype=output.dtype)).sum().backward()
        results.append([output, *(x.grad for x in copies)])
    names = ["output", *(f"gradient of input {i}" for i in range(len(inputs)))]
    for name, theirs_value, our_value in zip(names, *results, strict=True):
        assert_equal(our_value, theirs_value, name)
    assert_same_gradients(theirs, ours)


def vectors(seq, dtype, seed):
    """Random (batch, seq, d_model)."""
    return torch.randn(BATCH, seq, D_MODEL, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def lengths_mask(seq):
    """(batch, seq), True at real tokens: the sentences have seq, seq - 2 and 1 of them."""
    return torch.arange(seq) < torch.tensor([[seq], [seq - 2], [1]])


class TorchReference(nn.Module):
    """The paper's model out of torch.nn alone, positions and masks included."""

    def __init__(self, vocab, norm):
        super().__init__()
        self.source_lookup, self.target_lookup = nn.Embedding(vocab, D_MODEL), nn.Embedding(vocab, D_MODEL)
        self.machine = nn.Transformer(
            D_MODEL, HEADS, LAYERS, LAYERS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre"
        )
        self.projection = nn.Linear(D_MODEL, vocab, bias=False)

    def forward(self, source, target):
        blocked = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        x = self.machine(
            self.embed(self.source_lookup, source),
            self.embed(self.target_lookup, target),
            tgt_mask=blocked,
            src_key_padding_mask=source == 0,
            tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=source == 0,
        )
        return self.projection(x)

    @staticmethod
    def embed(lookup, ids):
        waves = [
            [
                (math.cos if column % 2 else math.sin)(position / 10000 ** ((column - column % 2) / D_MODEL))
                for column in range(D_MODEL)
            ]
            for position in range(ids.shape[1])
        ]
        return lookup(ids) * D_MODEL**0.5 + torch.tensor(waves, dtype=lookup.weight.dtype)

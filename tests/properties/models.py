"""Small models and batches that the property tests share. Everything is float64 and seeded."""

import torch

from transformer_edu import build_transformer

PAD, BOS, EOS, VOCAB = 0, 1, 2, 9
SOURCE = torch.tensor([[3, 4, 5, 6, 7], [8, 3, 3, PAD, PAD], [5, 7, PAD, PAD, PAD]])
TARGET = torch.tensor([[BOS, 4, 8, 3, 6, 5], [BOS, 7, 7, 5, PAD, PAD], [BOS, 6, 3, PAD, PAD, PAD]])


def small_model(seed=0, training=False, **fields):
    """A Transformer whose every weight is random: no bias is zero and no scale is one, so that none can hide."""
    settings = {"d_model": 16, "num_heads": 4, "d_ff": 32, "num_layers": 2, "dropout": 0.0} | fields
    torch.manual_seed(seed)
    model = build_transformer(VOCAB, VOCAB, **settings).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.train(training)


def lively_model(seed=0, norm="post"):
    """A random model whose answers differ from step to step: what all its outputs share is taken off.

    Without that, a random model says the same word again and again, and greedy search could hardly go wrong.
    """
    model = small_model(seed, norm=norm)
    last_norm = model.decoder.final_norm if norm == "pre" else model.decoder.layers[-1].feed_forward_residual.norm
    target = torch.randint(EOS, VOCAB, (200, 8))
    source = torch.randint(EOS, VOCAB, (200, 5))
    with torch.no_grad():
        last_norm.bias -= model.decode(target, model.encode(source), source).mean((0, 1))
    return model


def force_scores(model, scores):
    """Make a post-norm model give every position the same logits: `scores`, and 0 for every other id."""
    last_norm = model.decoder.layers[-1].feed_forward_residual.norm
    with torch.no_grad():
        last_norm.weight.zero_()
        last_norm.bias.zero_()
        last_norm.bias[0] = 1.0
        model.projection.linear.weight.zero_()
        for index, score in scores.items():
            model.projection.linear.weight[index, 0] = score
    return model


def step_by_step(model, source, target, chunks):
    """The logits of cached decoding, `chunks` saying how many new tokens each call brings."""
    memory, cache = model.encode(source), model.start_cache()
    return torch.cat([model.project(model.decode(new, memory, source, cache)) for new in target.split(chunks, 1)], 1)


def traces(model):
    """What a recording leaves behind in a model if it forgets to tidy up: hooks and recorders."""
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    return hooks, [module.recorder for module in model.modules() if hasattr(module, "recorder")]


def assert_close(actual, expected, tolerance, what):
    """Raise AssertionError unless both are finite, of one shape, and nowhere further apart than `tolerance`."""
    assert actual.shape == expected.shape, f"{what}: shape {tuple(actual.shape)}, expected {tuple(expected.shape)}"
    distance = float((actual.double() - expected.double()).detach().abs().max())
    assert distance <= tolerance, f"{what}: off by {distance:.2e}, allowed {tolerance:.0e}"  # NaN is not <=

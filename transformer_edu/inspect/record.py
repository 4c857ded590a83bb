"""Looking inside a model that knows nothing of being looked at.

Each `with` block sees only what its own thread computes: others may use the model at the same time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from transformer_edu.decoder import Decoder
from transformer_edu.encoder import Encoder
from transformer_edu.inspect.recorders import record_weights

BLOCK_NAMES = {  # attribute of a layer or a model -> what `record_activations` calls its output
    "source_embedding": "encoder.embedding",
    "target_embedding": "decoder.embedding",
    "self_attention": "self",
    "self_attention_residual": "after_self",
    "cross_attention": "cross",
    "cross_residual": "after_cross",
    "feed_forward": "feed_forward",
    "feed_forward_residual": "after_feed_forward",
    "projection": "logits",
}


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect the attention weights of every forward pass inside the `with` block.

    Yields a dictionary that each forward pass fills: "encoder.0.self", "decoder.0.self", "decoder.0.cross", ...
    each (batch, heads, q_len, k_len), before dropout, detached. A second forward pass overwrites the first.
    While recording, attention runs on its written-out path; the results are the same. Passes of other threads are
    not recorded.

    >>> from transformer_edu import build_transformer
    >>> import torch
    >>> model = build_transformer(10, 10, d_model=8, num_heads=2, d_ff=16, num_layers=1)
    >>> with record_attention(model) as maps:
    ...     _ = model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> {name: tuple(weights.shape) for name, weights in maps.items()}
    {'encoder.0.self': (1, 2, 3, 3), 'decoder.0.self': (1, 2, 2, 2), 'decoder.0.cross': (1, 2, 2, 3)}
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    maps: dict[str, Tensor] = {}
    attentions = {_short_name(name): module for name, module in model.named_modules() if hasattr(module, "recorder")}
    if not attentions:
        raise ValueError(f"model must contain an attention with a `recorder`, got {type(model).__name__} without one")
    recordings = [record_weights(module, _filing(maps, name)) for name, module in attentions.items()]
    try:
        yield maps
    finally:
        for stop in recordings:
            stop()


@contextmanager
def record_activations(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Collect what every block of a model puts out, in the order of computation, inside the `with` block.

    Yields a dictionary that each forward pass fills. Each entry is (batch, seq, d_model) and detached; a second
    forward pass overwrites the first. The names, here of the encoder:

        encoder.embedding             the words' vectors, already times √d_model
        encoder.positional            with the positional encoding added: what enters the first layer
        encoder.0.self                self-attention of layer 0, before it is added to its input
        encoder.0.after_self          after "add & norm" (with pre-norm: after "add")
        encoder.0.feed_forward        feed-forward, before it is added to its input
        encoder.0.after_feed_forward  after "add & norm": the output of layer 0
        encoder.output                the memory: the last layer's output, after the final norm if there is one

    The decoder has the same names, and decoder.0.cross and decoder.0.after_cross between self-attention and
    feed-forward. The projection's output is called logits, (batch, seq, vocab). A part of a model can be recorded
    too: a layer alone has the names "self", "after_self", and so on. Record whole forward passes: one that goes step
    by step with a cache takes its attentions in two steps, and has no "self" and "cross".

    >>> from transformer_edu import build_transformer
    >>> import torch
    >>> model = build_transformer(10, 10, d_model=8, num_heads=2, d_ff=16, num_layers=1)
    >>> with record_activations(model) as activations:
    ...     _ = model.encode(torch.tensor([[3, 4, 5]]))
    >>> list(activations)[2:4], tuple(activations["encoder.output"].shape)
    (['encoder.0.self', 'encoder.0.after_self'], (1, 3, 8))
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    activations: dict[str, Tensor] = {}
    hooks = []
    for path, module in model.named_modules():
        above, _, last = path.rpartition(".")
        if isinstance(module, Encoder | Decoder):
            hooks.append(_keep_input(module, activations, _join(path, "positional")))
            hooks.append(_keep_output(module, activations, _join(path, "output")))
        elif last in BLOCK_NAMES:
            hooks.append(_keep_output(module, activations, _join(above, BLOCK_NAMES[last])))
    if not hooks:
        raise ValueError(f"model must contain a block of an encoder or decoder, got {type(model).__name__} without one")
    try:
        yield activations
    finally:
        for hook in hooks:
            hook.remove()


def _short_name(path: str) -> str:
    """The name under which a module's map is filed: "encoder.layers.0.self_attention" -> "encoder.0.self"."""
    parts = [part.removesuffix("_attention") for part in path.split(".") if part and part != "layers"]
    return ".".join(parts) or "attention"


def _filing(into: dict[str, Tensor], name: str) -> Callable[[Tensor], None]:
    """A function that files under `name` what this thread hands to it."""
    thread = get_ident()

    def file(x: Tensor) -> None:
        if get_ident() == thread:
            into[name] = x.detach()

    return file


def _keep_output(module: nn.Module, into: dict[str, Tensor], name: str) -> RemovableHandle:
    """From now on, file what `module` puts out under `name`."""
    file = _filing(into, name)
    return module.register_forward_hook(lambda _, inputs, output: file(output))


def _keep_input(module: nn.Module, into: dict[str, Tensor], name: str) -> RemovableHandle:
    """From now on, file the first thing that goes into `module` under `name`."""
    file = _filing(into, name)
    return module.register_forward_pre_hook(lambda _, inputs: file(inputs[0]))


def _join(above: str, name: str) -> str:
    """A block's full name: ("encoder.layers.0", "self") -> "encoder.0.self"."""
    return ".".join([*(part for part in above.split(".") if part and part != "layers"), name])

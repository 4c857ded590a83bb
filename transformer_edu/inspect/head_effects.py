"""What a model loses without one of its heads."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.inspect.changes import Changes, changed
from transformer_edu.inspect.heads import attentions, head_names
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.support.validation import check_choice
from transformer_edu.transformer import Transformer

HOWS = ("off", "uniform", "mean")


@torch.no_grad()
def token_losses(
    model: Transformer, source: Int[Tensor, "batch src"], target: Int[Tensor, "batch tgt"]
) -> Float[Tensor, "tokens"]:
    """−ln p of every target token after the first, given those before it; padding is left out. In nats."""
    with evaluation_mode(model):
        log_probs = model(source, target[:, :-1]).log_softmax(dim=-1)  # (batch, tgt - 1, vocab)
    nexts = target[:, 1:]
    losses = -log_probs.gather(-1, nexts[..., None])[..., 0]
    return losses[nexts != model.config.pad_id]


def head_effects(
    model: Transformer,
    source: Int[Tensor, "batch src"],
    target: Int[Tensor, "batch tgt"],
    how: str = "off",
    heads: Sequence[str] | None = None,
) -> dict[str, float]:
    """By how much the loss rises, in nats a target token, when one head is changed: each head alone, the rest stays.

    Args:
        source: ids. target: ids from the begin token to the end token; the model is told the right words so far.
        how: "off": the head adds nothing. "uniform": it looks at all it may see alike. "mean": it adds what it adds
            on average over these sentences, whatever the sentence.
        heads: names as `head_names` has them; all if None.

    Raises:
        ValueError: a name belongs to no head, or `how` is another word.
    """
    check_choice("how", how, HOWS)
    names = head_names(model) if heads is None else list(heads)
    whole = token_losses(model, source, target).mean()
    means = mean_outputs(model, source, target) if how == "mean" else {}
    effects = {}
    for name in names:
        with without_heads(model, [name], how, means):
            effects[name] = float(token_losses(model, source, target).mean() - whole)
    return effects


@contextmanager
def without_heads(
    model: Transformer, heads: Sequence[str], how: str = "off", means: Mapping[str, Tensor] | None = None
) -> Iterator[Transformer]:
    """These heads changed while the `with` block runs, as in `head_effects`; for "mean" with what `mean_outputs` found.

    Raises:
        ValueError: `means` lacks one of the heads.
    """
    if how != "mean":
        with changed(model, Changes(heads=dict.fromkeys(heads, how))):
            yield model
        return
    if missing := sorted(set(heads) - set(means or {})):
        raise ValueError(f"means must hold what mean_outputs finds for every head, got none for {', '.join(missing)}")
    at = [name.rpartition(".") for name in heads]
    parts = attentions(model)
    hooks = [fix_head(parts[path], int(head), (means or {})[f"{path}.{head}"]) for path, _, head in at]
    try:
        yield model
    finally:
        for hook in hooks:
            hook.remove()


def fix_head(part: MultiHeadAttention, head: int, output: Tensor) -> RemovableHandle:
    """From now on this head puts out the same vector everywhere, (d_head) or one number for all of its entries."""
    its = slice(head * part.d_head, (head + 1) * part.d_head)

    def replace(_: object, inputs: tuple[Tensor]) -> tuple[Tensor]:
        merged = inputs[0].clone()  # (batch, q_len, d_model), the heads side by side
        merged[..., its] = output
        return (merged,)

    return part.output_projection.register_forward_pre_hook(replace)


@torch.no_grad()
def mean_outputs(
    model: Transformer, source: Int[Tensor, "batch src"], target: Int[Tensor, "batch tgt"]
) -> dict[str, Float[Tensor, "d_head"]]:
    """What each head puts out before the output projection, the mean over all tokens of these sentences but padding."""
    pad = model.config.pad_id
    seen: dict[str, Tensor] = {}
    hooks = [
        part.output_projection.register_forward_pre_hook(lambda _, inputs, name=name: seen.update({name: inputs[0]}))
        for name, part in attentions(model).items()
    ]
    try:
        with evaluation_mode(model):
            model(source, target[:, :-1])
    finally:
        for hook in hooks:
            hook.remove()
    means = {}
    for name, merged in seen.items():
        real = (source if name.startswith("encoder") else target[:, :-1]) != pad
        mean = merged[real].mean(dim=0)
        for head, its in enumerate(mean.chunk(attentions(model)[name].num_heads)):
            means[f"{name}.{head}"] = its
    return means

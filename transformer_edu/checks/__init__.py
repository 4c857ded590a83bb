"""Checks that teach: hand in your own implementation, learn which known mistake it makes.

Each check runs small trials, prints one line when all of them pass, and otherwise raises `CheckFailed` with the
smallest failing example, the mistake that produces exactly that answer, and a hint.

    check_softmax(fn)                            fn(scores) -> probabilities over the last dimension
    check_scaled_dot_product_attention(fn)       fn(query, key, value, mask=None) -> output or (output, weights)
    check_causal_mask(fn)                        fn(size) -> mask
    check_padding_mask(fn)                       fn(ids, pad_id) -> mask
    check_target_mask(fn)                        fn(ids, pad_id) -> mask, causal and padding together
    check_multi_head_split(split, merge)         split(x, num_heads), merge(heads)
    check_sinusoidal_table(fn)                   fn(max_len, d_model) -> table
    check_position_rotation(fn)                  fn(k, theta) -> (2, 2) matrix for the pair (sin, cos)
    check_positional_encoding(cls)               cls(d_model, max_len=..., dropout=...); forward(x, offset=0)
    check_transformer(build)                     build(source_vocab_size, target_vocab_size, **config_fields) -> model
    check_parameter_count(fn)                    fn(config) -> int
    check_shift(fn)                              fn(target) -> (target_in, target_out)
    check_label_smoothing(fn)                    fn(logits, target, pad_id, smoothing) -> loss
    check_warmup_schedule(fn)                    fn(step, d_model, warmup_steps) -> learning rate
    check_greedy_search(fn)                      fn(model, source, bos_id, eos_id, max_len) -> ids

`catalogue(component)` lists the known mistakes of one component, `components()` the components' names.
"""

from transformer_edu.checks import (  # noqa: F401 (each fills a catalogue)
    attention_mask_mistakes,
    attention_mistakes,
    encoding_mistakes,
    loss_mistakes,
    mask_mistakes,
    parameter_mistakes,
    rotation_mistakes,
    search_mistakes,
    table_mistakes,
    target_mask_mistakes,
    transformer_build_mistakes,
    transformer_mistakes,
)
from transformer_edu.checks.attention import ATTENTION, check_scaled_dot_product_attention
from transformer_edu.checks.encoding import ENCODING, check_positional_encoding
from transformer_edu.checks.engine import CheckFailed, Component, Mistake
from transformer_edu.checks.heads import HEADS, check_multi_head_split
from transformer_edu.checks.loss import LOSS, check_label_smoothing
from transformer_edu.checks.masks import (
    CAUSAL,
    PADDING,
    TARGET,
    check_causal_mask,
    check_padding_mask,
    check_target_mask,
)
from transformer_edu.checks.parameters import PARAMETERS, check_parameter_count
from transformer_edu.checks.positions import ROTATION, TABLE, check_position_rotation, check_sinusoidal_table
from transformer_edu.checks.schedule import SCHEDULE, check_warmup_schedule
from transformer_edu.checks.search import SEARCH, check_greedy_search
from transformer_edu.checks.shift import SHIFT, check_shift
from transformer_edu.checks.softmax import SOFTMAX, check_softmax
from transformer_edu.checks.transformer import TRANSFORMER, check_transformer

_IN_ORDER = (
    SOFTMAX, ATTENTION, CAUSAL, PADDING, TARGET, HEADS, TABLE, ROTATION, ENCODING, TRANSFORMER, PARAMETERS, SHIFT, LOSS,
    SCHEDULE, SEARCH,
)  # fmt: skip
_COMPONENTS: dict[str, Component] = {component.name: component for component in _IN_ORDER}


def components() -> list[str]:
    """The names of the components that have a catalogue, in the order of the book."""
    return list(_COMPONENTS)


def catalogue(component: str) -> list[Mistake]:
    """The known mistakes of one component: each has a name, a symptom, a why, a hint, and `wrong`, its code."""
    if component not in _COMPONENTS:
        raise ValueError(f"component must be one of {', '.join(map(repr, _COMPONENTS))}, got {component!r}")
    return list(_COMPONENTS[component].mistakes)


__all__ = [
    "CheckFailed",
    "Mistake",
    "catalogue",
    "check_causal_mask",
    "check_greedy_search",
    "check_label_smoothing",
    "check_multi_head_split",
    "check_padding_mask",
    "check_parameter_count",
    "check_position_rotation",
    "check_positional_encoding",
    "check_scaled_dot_product_attention",
    "check_shift",
    "check_sinusoidal_table",
    "check_softmax",
    "check_target_mask",
    "check_transformer",
    "check_warmup_schedule",
    "components",
]

"""What the single parts must do: attention, positions, norms. Plain functions that raise AssertionError."""

import math

import torch

from tests.properties.models import assert_close
from transformer_edu import (
    LayerNorm,
    MultiHeadAttention,
    RMSNorm,
    build_encoder_layer,
    scaled_dot_product_attention,
    sinusoidal_table,
)

EXACT = 1e-12


def random_attention(seed=0, batch=2, heads=3, q_len=4, k_len=5, d_head=6, allowed=0.6):
    """Query, key, value and a random mask; a small `allowed` leaves some queries nowhere to look."""
    draw = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, heads, q_len, d_head, generator=draw, dtype=torch.float64)
    key = torch.randn(batch, heads, k_len, d_head, generator=draw, dtype=torch.float64)
    value = torch.randn(batch, heads, k_len, d_head, generator=draw, dtype=torch.float64)
    mask = torch.rand(batch, heads, q_len, k_len, generator=draw) < allowed
    return query, key, value, mask


def attention_is_its_definition(**shape):
    """softmax(QKᵀ / √d_head) V, written with loops over numbers and nothing from the package."""
    query, key, value, mask = random_attention(**shape)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    for index in torch.cartesian_prod(*(torch.arange(n) for n in query.shape[:3])).tolist():
        b, h, i = index
        allowed = [j for j in range(key.shape[2]) if mask[b, h, i, j]]
        powers = {j: math.exp(float(query[b, h, i] @ key[b, h, j]) / query.shape[-1] ** 0.5) for j in allowed}
        row = [powers.get(j, 0.0) / (sum(powers.values()) or 1.0) for j in range(key.shape[2])]
        mean = [sum(w * float(v) for w, v in zip(row, column, strict=True)) for column in value[b, h].T]
        assert_close(weights[b, h, i], torch.tensor(row, dtype=torch.float64), EXACT, f"weights at {index}")
        assert_close(output[b, h, i], torch.tensor(mean, dtype=torch.float64), EXACT, f"output at {index}")


def fused_equals_written_out(**shape):
    """Both paths, with and without a mask, outputs and gradients."""
    results = []
    for need_weights in (True, False):
        query, key, value, mask = random_attention(**shape)
        inputs = [x.requires_grad_() for x in (query, key, value)]
        masked = scaled_dot_product_attention(*inputs, mask, need_weights=need_weights)[0]
        free = scaled_dot_product_attention(*inputs, need_weights=need_weights)[0]
        results.append([masked, free, *torch.autograd.grad((masked.square() + free.square()).sum(), inputs)])
    for name, result, other in zip(("masked", "free", "dQ", "dK", "dV"), *results, strict=True):
        assert_close(result, other, 1e-11, f"{name} in the two paths")


def weights_are_a_distribution_over_allowed_keys(**shape):
    """No weight is negative or on a forbidden key; a row sums to one, or to zero when it may look nowhere."""
    query, key, value, mask = random_attention(**shape)
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    assert bool((weights >= 0).all()), "a weight is negative"
    assert_close(weights * ~mask, torch.zeros_like(weights), 0.0, "weight on forbidden keys")
    assert_close(weights.sum(-1), mask.any(-1).double(), EXACT, "sum of weights")


def output_lies_among_the_allowed_values(need_weights=True, **shape):
    """Seen along any direction, an output lies between the smallest and the largest value it may look at."""
    query, key, value, mask = random_attention(**shape)
    output, _ = scaled_dot_product_attention(query, key, value, mask, need_weights=need_weights)
    directions = torch.randn(value.shape[-1], 20, dtype=torch.float64)
    seen = (value @ directions)[:, :, None]  # (batch, heads, 1, k_len, 20)
    lowest = seen.masked_fill(~mask[..., None], math.inf).amin(-2)
    highest = seen.masked_fill(~mask[..., None], -math.inf).amax(-2)
    somewhere = mask.any(-1)
    place = (output @ directions)[somewhere]
    assert bool((place >= lowest[somewhere] - EXACT).all()), "an output lies below all its values"
    assert bool((place <= highest[somewhere] + EXACT).all()), "an output lies above all its values"


def forbidden_keys_and_values_never_matter(need_weights=True, **shape):
    """What stands at a key that nobody may look at can be anything."""
    query, key, value, mask = random_attention(**shape)
    hidden = torch.zeros(key.shape[2], dtype=torch.bool)
    hidden[-1] = True
    mask = mask & ~hidden
    other_key, other_value = key.clone(), value.clone()
    other_key[:, :, -1], other_value[:, :, -1] = 1e3, -1e6
    before, _ = scaled_dot_product_attention(query, key, value, mask, need_weights=need_weights)
    after, _ = scaled_dot_product_attention(query, other_key, other_value, mask, need_weights=need_weights)
    assert_close(after, before, EXACT, "attention with another hidden key and value")


def one_vector_added_to_all_keys_changes_nothing(**shape):
    """It adds the same number to a query's every score, and softmax does not see that."""
    query, key, value, mask = random_attention(**shape)
    before, weights = scaled_dot_product_attention(query, key, value, mask)
    after, moved = scaled_dot_product_attention(query, key + 1.7, value, mask)
    assert_close(moved, weights, EXACT, "weights")
    assert_close(after, before, EXACT, "output")


def nowhere_to_look_gives_zeros(*, need_weights, dtype=torch.float32):
    """A query that may attend to nothing: zero weights, zero output, finite gradients, the other queries untouched."""
    query, key, value, mask = random_attention(allowed=0.9)
    mask = mask | torch.eye(4, 5, dtype=torch.bool)
    mask[0, :, 1] = False
    inputs = [x.to(dtype).requires_grad_() for x in (query, key, value)]
    output, weights = scaled_dot_product_attention(*inputs, mask, need_weights=need_weights)
    assert bool((output[0, :, 1] == 0).all()), f"output with nowhere to look: {output[0, :, 1]}"
    assert weights is None or bool((weights[0, :, 1] == 0).all()), "weights with nowhere to look"
    assert bool((output[1].abs().sum(-1) > 0).all()), "the other queries' outputs vanished"
    gradients = torch.autograd.grad(output.float().square().sum() + output.float().sum(), inputs)
    assert all(bool(g.isfinite().all()) for g in gradients), "gradient with nowhere to look is not finite"


def blocked_query_of_a_head_is_zero_before_the_projection(*, recorded):
    """In `MultiHeadAttention` only the output projection's bias is left of a query with nowhere to look."""
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    attention.recorder = (lambda weights: None) if recorded else None
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    output = attention(x, x, x, mask)
    assert_close(output[:, 1], attention.output_projection.bias.expand(2, 8), 1e-7, "output of a blocked query")


def dropout_spares_the_returned_weights(**shape):
    """`dropout_p` changes the output, never the weights that come back, and is right on average."""
    query, key, value, _ = random_attention(**shape)
    expected, weights = scaled_dot_product_attention(query, key, value)
    torch.manual_seed(0)
    outputs = []
    for _ in range(3000):
        output, returned = scaled_dot_product_attention(query, key, value, dropout_p=0.3)
        assert_close(returned, weights, 0.0, "weights beside dropout")
        outputs.append(output)
    spread = torch.stack(outputs).std(0)
    assert bool((spread > 0).all()), "dropout must drop"
    assert_close(torch.stack(outputs).mean(0), expected, 0.15, "mean output under dropout")


def order_does_not_matter_without_positions(seed=0, batch=2, seq=5, heads=2):
    """An encoder layer given its tokens in another order gives its outputs in that order."""
    torch.manual_seed(seed)
    layer, x = build_encoder_layer(4 * heads, heads, 16).double(), torch.randn(batch, seq, 4 * heads).double()
    order = torch.randperm(seq)
    assert_close(layer(x[:, order]), layer(x)[:, order], 1e-11, "encoder layer on shuffled tokens")


def shifted_encoding_is_a_rotation(d_model=16, position=7, shift=5, sign=1):
    """In (sin, cos) order, [[cos kθ, sin kθ], [−sin kθ, cos kθ]] takes PE(pos) to PE(pos + k)."""
    table = sinusoidal_table(position + shift + 1, d_model).double()
    for pair in range(d_model // 2):
        angle = sign * shift * 10000.0 ** (-2 * pair / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        turn = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
        columns = slice(2 * pair, 2 * pair + 2)
        assert_close(turn @ table[position, columns], table[position + shift, columns], 1e-6, f"pair {pair} turned")


def table_is_precise_far_out(position=5000, d_model=512):
    """Every entry of one far row against the standard library's sine and cosine in float64."""
    row = sinusoidal_table(position + 1, d_model)[position]
    theta = [math.pow(10000.0, -2 * pair / d_model) for pair in range(d_model // 2)]
    exact = [wave(position * t) for t in theta for wave in (math.sin, math.cos)]
    assert_close(row, torch.tensor(exact, dtype=torch.float64), 1e-6, f"row {position}")


def norm_is_its_definition(norm_type=LayerNorm, d_model=8, eps=1e-3):
    """Mean, biased variance, ε under the root, γ and β, all with plain Python numbers."""
    torch.manual_seed(0)
    norm, x = norm_type(d_model, eps).double(), 2 + 3 * torch.randn(5, d_model).double()
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_()
    scale, shift = norm.weight.tolist(), getattr(norm, "bias", torch.zeros(d_model)).tolist()
    for row, normalized in zip(x.tolist(), norm(x), strict=True):
        mean = sum(row) / d_model if norm_type is not RMSNorm else 0.0
        root = math.sqrt(sum((v - mean) ** 2 for v in row) / d_model + eps)
        expected = [g * (v - mean) / root + b for g, v, b in zip(scale, row, shift, strict=True)]
        assert_close(normalized, torch.tensor(expected, dtype=torch.float64), EXACT, norm_type.__name__)

"""Parts of later models against formulas written by hand: rotary positions, gated feed-forward, shared keys, a bias."""

import pytest
import torch
import torch.nn.functional as F

from transformer_edu import MultiHeadAttention, causal_mask, checks, record_attention, scaled_dot_product_attention
from transformer_edu.parts import (
    BiasedAttention,
    Experts,
    GatedFeedForward,
    InnerNorms,
    LatentAttention,
    LinearBiases,
    NormedAttention,
    RMSNorm,
    RotaryPositions,
    SinkAttention,
    WindowedAttention,
    balanced,
    balancing_loss,
    capped_attention,
    window_mask,
)
from transformer_edu.parts.rotary import halves_of, ntk, speeds_of

PAIRS = ["neighbours", "halves"]


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def in_one_order(x, pairs):
    """The two entries of each pair side by side, as neighbours stand."""
    return x if pairs == "neighbours" else torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)


@pytest.mark.parametrize("pairs", PAIRS)
def test_rotary_positions_multiply_each_pair_by_a_complex_number_of_length_one(pairs):
    x, rotary = torch.randn(2, 3, 5, 8), RotaryPositions(8, 20, pairs)
    theta = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    turn = torch.polar(torch.ones(5, 4), torch.arange(4, 9)[:, None] * theta)  # positions 4 .. 8
    complex_pairs = torch.view_as_complex(in_one_order(x, pairs).unflatten(-1, (4, 2)).contiguous())
    expected = torch.view_as_real(complex_pairs * turn).flatten(-2)
    torch.testing.assert_close(in_one_order(rotary.rotate(x, 4), pairs), expected)


@pytest.mark.parametrize("pairs", PAIRS)
def test_rotary_positions_are_what_the_chapter_asks_for_and_know_distances_alone(pairs):
    rotary = RotaryPositions(8, 200, pairs)
    q, k = torch.randn(2, 1, 1, 6, 8)
    near, far = (rotary(q, offset) @ rotary(k, offset).transpose(-2, -1) for offset in (0, 100))
    torch.testing.assert_close(near, far, rtol=1e-4, atol=1e-4)
    checks.check_rotary(
        lambda x, start=0: RotaryPositions(x.shape[1], 5000, pairs).to(x.dtype)(x[None, None], start)[0, 0]
    )


@pytest.mark.parametrize(("activation", "function"), [("silu", F.silu), ("gelu", F.gelu)])
def test_gated_feed_forward_is_its_formula(activation, function):
    part, x = GatedFeedForward(8, 12, activation=activation), torch.randn(2, 5, 8)
    expected = (function(x @ part.gate.weight.T) * (x @ part.expand.weight.T)) @ part.contract.weight.T
    torch.testing.assert_close(part(x), expected)


def test_shared_keys_and_values_are_those_of_torch_repeated_for_their_queries():
    attention, x = MultiHeadAttention(16, 4, num_kv_heads=2), torch.randn(2, 5, 16)
    q, (k, v) = attention.queries(x), attention.keys_values(x)
    assert k.shape == v.shape == (2, 2, 5, 4)
    heads = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = attention.output_projection(attention.merge_heads(heads))
    torch.testing.assert_close(attention(x, x, x, causal_mask(5)), expected)


@pytest.mark.parametrize(
    "mask", [None, causal_mask(5), torch.zeros(5, 5, dtype=torch.bool)], ids=["none", "causal", "all"]
)
def test_a_bias_is_added_to_the_scores_on_both_paths(mask):
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    bias = torch.randn(4, 5, 5)
    written, weights = scaled_dot_product_attention(q, k, v, mask, score_bias=bias)
    fused, _ = scaled_dot_product_attention(q, k, v, mask, need_weights=False, score_bias=bias)
    torch.testing.assert_close(written, fused)
    seen = torch.ones(5, 5, dtype=torch.bool) if mask is None else mask
    scores = (q @ k.transpose(-2, -1) / 8**0.5 + bias).masked_fill(~seen, -torch.inf)
    torch.testing.assert_close(weights, scores.softmax(-1).nan_to_num(0.0))


def test_a_bias_reaches_the_recorder_and_changes_nothing_else():
    attention, x = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    bias = torch.zeros(4, 5, 5).index_fill(2, torch.tensor([0]), 30.0)  # all look at the first token
    plain = attention.attend(x, attention.keys_values(x), score_bias=bias)
    with record_attention(attention) as maps:
        recorded = attention.attend(x, attention.keys_values(x), score_bias=bias)
    torch.testing.assert_close(plain, recorded)
    assert maps["attention"][..., 0].min() > 0.999


def test_halves_are_neighbours_in_another_order():
    neighbours, halves, x = RotaryPositions(8, 20), RotaryPositions(8, 20, "halves"), torch.randn(2, 3, 5, 8)
    order = halves_of(8)
    torch.testing.assert_close(halves(x[..., order], 3), neighbours(x, 3)[..., order])
    rows = torch.nn.Linear(6, 8, bias=False)  # weights made for neighbours, in a model that turns halves
    h = torch.randn(2, 3, 5, 6)
    torch.testing.assert_close(halves(h @ rows.weight[order].T), neighbours(rows(h))[..., order])
    assert (halves(x) - neighbours(x)).abs().max() > 0.1, "mixed without the permutation, they differ"


def test_an_ntk_scaling_is_a_larger_base():
    factor, d_head = 4.0, 16
    larger = speeds_of(d_head, 10_000.0 * factor ** (d_head / (d_head - 2)))
    torch.testing.assert_close(ntk(factor)(speeds_of(d_head, 10_000.0)), larger)
    torch.testing.assert_close(speeds_of(d_head, 10_000.0)[-1] / factor, larger[-1])


def test_a_table_that_is_moved_is_made_of_the_same_formula_again():
    rotary = RotaryPositions(8, 20, base=500.0, scaling=ntk(2.0), gain=1.5)
    table = rotary.table.clone()
    torch.testing.assert_close(rotary.double().float().table, table)
    torch.testing.assert_close(rotary.to_empty(device="cpu").table, table)


@pytest.mark.long
@pytest.mark.parametrize("heads", [1, 4, 6, 8, 12])
def test_linear_biases_are_those_of_transformers_bloom(heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    alibi = build_alibi_tensor(torch.ones(1, 7, dtype=torch.long), heads, torch.float32).view(heads, 7)
    found = LinearBiases(heads)(1, 7, offset=6)[0, :, 0]  # Bloom adds slope * place: it differs by a constant
    torch.testing.assert_close(found - found[:, :1], alibi - alibi[:, :1])


def test_linear_biases_go_on_where_a_cache_ends():
    attention, x = BiasedAttention(16, 4, positions=LinearBiases(4)), torch.randn(2, 6, 16)
    whole = attention(x, x, x, causal_mask(6))
    last = attention.attend(x[:, 5:], attention.keys_values(x), offset=5)
    torch.testing.assert_close(last[:, 0], whole[:, 5])


def test_a_window_ends_the_past_and_layers_carry_it_on():
    mask = window_mask(9, 3)
    rows, columns = torch.where(mask)
    assert ((rows - columns) >= 0).all()
    assert ((rows - columns) <= 2).all()
    assert mask.sum() == 3 * 9 - 3
    reach = mask.float() @ mask.float() > 0
    assert torch.equal(reach, window_mask(9, 5)), "two layers reach 2 * 2 tokens back"
    q, k, v = torch.randn(3, 2, 4, 6, 8)
    found, _ = WindowedAttention(3)(q[:, :, 4:], k, v, causal_mask(6)[4:])
    torch.testing.assert_close(found, F.scaled_dot_product_attention(q, k, v, window_mask(6, 3))[:, :, 4:])


def test_a_cap_bounds_scores_and_leaves_small_ones():
    q, k, v = torch.randn(3, 2, 4, 6, 8)
    mask = causal_mask(6)
    found, weights = capped_attention(1.5)(5 * q, k, v, mask)
    scores = 1.5 * torch.tanh(5 * q @ k.mT / 8**0.5 / 1.5)
    expected = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    torch.testing.assert_close((found, weights), (expected @ v, expected))
    torch.testing.assert_close(capped_attention(1e4)(q, k, v, mask)[0], scaled_dot_product_attention(q, k, v, mask)[0])


def test_a_sink_is_a_key_whose_value_is_zero():
    q, k, v = torch.randn(3, 2, 4, 6, 8)
    function, mask = SinkAttention(4), causal_mask(6)
    with torch.no_grad():
        function.sinks.copy_(torch.tensor([-2.0, 0.0, 1.0, 3.0]))
    found, weights = function(q, k, v, mask)
    scores = (q @ k.mT / 8**0.5).masked_fill(~mask, -torch.inf)
    sinks = function.sinks[None, :, None, None].expand(2, 4, 6, 1)
    expected = torch.cat([sinks, scores], -1).softmax(-1)
    torch.testing.assert_close(found, expected @ F.pad(v, (0, 0, 1, 0)))
    torch.testing.assert_close(weights.sum(-1), 1 - expected[..., 0])
    attention = MultiHeadAttention(16, 4, function=function)
    attention(torch.randn(1, 3, 16), *[torch.randn(1, 3, 16)] * 2).sum().backward()
    assert function.sinks.grad.abs().min() > 0, "it is learned"


def test_normed_queries_and_keys_make_scores_that_do_not_grow():
    x = torch.randn(2, 5, 16)
    norms = {"query_norm": RMSNorm(4), "key_norm": RMSNorm(4)}
    attention = NormedAttention(16, 4, **norms)
    before = attention(x, x, x)
    with torch.no_grad():
        attention.query_projection.weight.mul_(100)
        attention.query_projection.bias.mul_(100)
    torch.testing.assert_close(attention(x, x, x), before, rtol=1e-3, atol=1e-3)
    whole = NormedAttention(16, 4, query_norm=RMSNorm(16), key_norm=RMSNorm(16))
    torch.testing.assert_close(whole.queries(x), whole.split_heads(RMSNorm(16)(whole.query_projection(x))))


def test_norms_stand_before_after_or_on_both_sides_of_a_sub_layer():
    x, part = torch.randn(2, 5, 16), torch.nn.Linear(16, 16)
    before, after = RMSNorm(16), RMSNorm(16)
    torch.nn.init.normal_(before.weight)
    torch.nn.init.normal_(after.weight)
    torch.testing.assert_close(InnerNorms(before, None)(x, part), x + part(before(x)))
    torch.testing.assert_close(InnerNorms(None, after)(x, part), x + after(part(x)))
    torch.testing.assert_close(InnerNorms(before, after)(x, part), x + after(part(before(x))))


def test_a_window_over_sinks_learns_its_sinks_and_leaves_the_last_weight_to_them():
    attention = MultiHeadAttention(8, 2, function=WindowedAttention(2, SinkAttention(2)))
    assert "function.function.sinks" in dict(attention.named_parameters())
    x = torch.randn(1, 5, 8)
    with record_attention(attention) as maps:
        attention(x, x, x, causal_mask(5)).sum().backward()
    (weights,) = maps.values()
    assert (weights[0, :, 4] > 0).tolist() == [[False, False, False, True, True]] * 2
    assert (weights.sum(-1) < 1).all()
    assert attention.function.function.sinks.grad.abs().min() > 0


def deepseek(**more):
    from transformers import DeepseekV3Config

    sizes = {"hidden_size": 24, "intermediate_size": 20, "moe_intermediate_size": 10, "n_routed_experts": 6,
             "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "num_attention_heads": 3, "kv_lora_rank": 7,
             "qk_rope_head_dim": 4, "qk_nope_head_dim": 5, "v_head_dim": 6, "q_lora_rank": 8, "num_hidden_layers": 1,
             "num_key_value_heads": 3, "vocab_size": 11, "max_position_embeddings": 32,
             "routed_scaling_factor": 1.0}  # fmt: skip
    return DeepseekV3Config(**sizes | more, attn_implementation="eager")


@pytest.mark.long
@pytest.mark.parametrize("query_rank", [8, None])
def test_latent_attention_is_that_of_transformers_and_its_cache_holds_short_vectors(query_rank):
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention, DeepseekV3RotaryEmbedding

    config = deepseek(q_lora_rank=query_rank)
    theirs = DeepseekV3Attention(config, 0).eval()
    ours = LatentAttention(24, 3, 5, 4, 6, 7, RotaryPositions(4), query_rank)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    ours.load_state_dict(dict(zip(ours.state_dict(), theirs.state_dict().values(), strict=True)))
    x, causal = torch.randn(2, 6, 24, requires_grad=True), causal_mask(6)
    turns = DeepseekV3RotaryEmbedding(config)(x, torch.arange(6)[None])
    mask = torch.zeros(6, 6).masked_fill(~causal, -torch.inf)[None, None]
    expected, found = theirs(x, turns, mask)[0], ours(x, x, x, causal)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad(output.square().sum(), x)[0] for output in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
    (first, second), (last, turned) = ours.keys_values(x[:, :5]), ours.keys_values(x[:, 5:], 5)
    kept = torch.cat([first, last], dim=2), torch.cat([second, turned], dim=2)
    assert sum(tensor.shape[1] * tensor.shape[3] for tensor in kept) == 7 + 4, "numbers a token"
    torch.testing.assert_close(ours.attend(x[:, 5:], kept, offset=5)[:, 0], found[:, 5])


def experts_of(count, d_model=24, d_ff=10, seed=0):
    torch.manual_seed(seed)
    return [GatedFeedForward(d_model, d_ff) for _ in range(count)]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Mixtral", "DeepSeek-V3"])
def test_a_mixture_of_experts_is_that_of_transformers(kind):
    from transformers import MixtralConfig
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

    if kind == "Mixtral":
        config = MixtralConfig(hidden_size=24, intermediate_size=10, num_local_experts=6, num_experts_per_tok=2)
        theirs, ours = MixtralSparseMoeBlock(config), Experts(24, experts_of(6), 2)
    else:
        theirs = DeepseekV3MoE(deepseek())
        ours = Experts(24, experts_of(6), 2, GatedFeedForward(24, 10), "sigmoid")
    theirs.eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    weights = theirs.state_dict()
    own = {"router.weight": weights["gate.weight"], "bias": weights.get("gate.e_score_correction_bias", ours.bias)}
    if kind != "Mixtral":
        own["bias"] += torch.tensor([0.5, -0.5, 0.0, 0.3, 0.0, -0.2])  # which changes the choice, not the gates
        names = {"gate": "gate", "expand": "up", "contract": "down"}
        own |= {f"shared.{a}.weight": weights[f"shared_experts.{b}_proj.weight"] for a, b in names.items()}
    for i in range(6):
        gate, expand = weights["experts.gate_up_proj"][i].chunk(2)
        own |= {f"experts.{i}.gate.weight": gate, f"experts.{i}.expand.weight": expand}
        own[f"experts.{i}.contract.weight"] = weights["experts.down_proj"][i]
    ours.load_state_dict(own)
    x = torch.randn(2, 7, 24, requires_grad=True)
    expected = theirs(x)
    expected = expected[0] if isinstance(expected, tuple) else expected
    found = ours(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad(output.square().mean(), x)[0] for output in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_a_balancing_loss_is_one_where_all_experts_are_used_alike():
    even = torch.full((6, 3), 1 / 3), torch.arange(6)[:, None] % 3
    torch.testing.assert_close(balancing_loss(*even), torch.tensor(1.0))
    one = torch.tensor([[0.98, 0.01, 0.01]]).expand(6, 3), torch.zeros(6, 1, dtype=torch.long)
    assert balancing_loss(*one) > 2.9
    bias = balanced(torch.zeros(3), torch.tensor([[0], [0], [0], [1]]), 0.1)
    torch.testing.assert_close(bias, torch.tensor([-0.1, 0.1, 0.1]))


@pytest.mark.long
def test_without_balance_experts_starve_and_the_bias_alone_feeds_them():
    shares = {}
    for way in ("none", "bias"):
        mixture = Experts(8, experts_of(4, 8, 8), 1, scores="sigmoid")
        with torch.no_grad():
            mixture.router.weight[0] = 2.0  # one expert begins ahead
        for _ in range(400):
            mixture(torch.rand(1, 64, 8))
            chosen = mixture.routed[1]
            if way == "bias":
                mixture.bias.copy_(balanced(mixture.bias, chosen, 0.01))
        shares[way] = (chosen.flatten().bincount(minlength=4) / chosen.numel()).min()
    assert shares["none"] == 0
    assert shares["bias"] > 0.05, "a random state of the way there; even would be 0.25"

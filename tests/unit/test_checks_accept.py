"""Right implementations that look different from the package's pass."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from transformer_edu import checks

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ attention


def with_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * key.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-torch.inf, dtype=scores.dtype))
    return torch.einsum("...qk,...kd->...qd", scores.softmax(-1).nan_to_num(0.0), value)


def with_nan_to_num(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(F.softmax(scores, dim=-1))
    return weights @ value, weights


def with_torchs_own(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def with_an_additive_mask(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2))
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
    return [torch.softmax(scores, dim=-1).nan_to_num() @ value, None]


def with_renormalization(query, key, value, mask=None):
    exponentials = torch.exp((query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).float())
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(-1, keepdim=True)
    weights = (exponentials / total.clamp(min=1e-12)).to(value.dtype)
    return weights @ value, weights


@pytest.mark.parametrize(
    "attention", [with_einsum, with_nan_to_num, with_torchs_own, with_an_additive_mask, with_renormalization]
)
def test_right_attentions_pass(attention):
    checks.check_scaled_dot_product_attention(attention)


# ------------------------------------------------------------------ masks, softmax, heads


@pytest.mark.parametrize(
    "mask",
    [
        lambda size: torch.arange(size)[None, :] <= torch.arange(size)[:, None],
        lambda size: ~torch.triu(torch.ones(1, size, size, dtype=torch.bool), diagonal=1),
        lambda size: torch.tril(torch.ones(1, 1, size, size)) == 1,
    ],
)
def test_right_causal_masks_of_any_shape_pass(mask):
    checks.check_causal_mask(mask)


def test_right_padding_masks_of_any_shape_pass():
    checks.check_padding_mask(lambda ids, pad_id: (ids != pad_id).unsqueeze(1).unsqueeze(2))
    checks.check_padding_mask(lambda ids, pad_id: ids.ne(pad_id)[:, None, None].expand(-1, 4, ids.shape[1], -1))


def test_right_target_masks_pass():
    def both(ids, pad_id):
        return torch.tril((ids != pad_id)[:, None, None, :].expand(-1, -1, ids.shape[1], -1))

    checks.check_target_mask(both)


def test_right_softmaxes_pass():
    def by_logsumexp(scores):
        return torch.exp(scores - scores.logsumexp(-1, keepdim=True))

    def with_default_dim(scores, dim=-1):
        shifted = torch.exp(scores - scores.max(dim=dim, keepdim=True).values)
        return shifted / shifted.sum(dim=dim, keepdim=True)

    checks.check_softmax(by_logsumexp)
    checks.check_softmax(with_default_dim)


def test_split_and_merge_with_permute_and_loops_pass():
    checks.check_multi_head_split(
        lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1), dim=1),
        lambda heads: torch.cat(list(heads.unbind(1)), dim=-1),
    )


# ------------------------------------------------------------------ positions


def with_loops(max_len, d_model):
    table = np.zeros((max_len, d_model))
    for i in range(d_model // 2):
        table[:, 2 * i] = np.sin(np.arange(max_len) / 10000 ** (2 * i / d_model))
        table[:, 2 * i + 1] = np.cos(np.arange(max_len) / 10000 ** (2 * i / d_model))
    return table


def test_right_tables_pass():
    checks.check_sinusoidal_table(with_loops)

    def with_exponential(max_len, d_model):
        theta = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10000.0) / d_model))
        angles = torch.outer(torch.arange(max_len).double(), theta)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(max_len, d_model).float()

    checks.check_sinusoidal_table(with_exponential)


def test_a_rotation_as_nested_lists_passes():
    checks.check_position_rotation(
        lambda k, theta: [[math.cos(k * theta), math.sin(k * theta)], [-math.sin(k * theta), math.cos(k * theta)]]
    )


class Persistent(nn.Module):
    """A table kept as (1, max_len, d_model) and saved with the weights."""

    def __init__(self, d_model, max_len=100, dropout=0.1):
        super().__init__()
        self.register_buffer("pe", te.sinusoidal_table(max_len, d_model)[None])
        self.drop = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.drop(x + self.pe[:, offset : offset + x.size(1)])


class Frozen(nn.Module):
    """The table in a frozen nn.Embedding, as some implementations have it."""

    def __init__(self, d_model, max_len=100, dropout=0.1):
        super().__init__()
        self.rows = nn.Embedding.from_pretrained(te.sinusoidal_table(max_len, d_model), freeze=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, offset=0):
        return self.drop(x + self.rows(torch.arange(offset, offset + x.size(1))))


class WithoutOffset(Persistent):
    def forward(self, x):
        return self.drop(x + self.pe[:, : x.size(1)])


@pytest.mark.parametrize("cls", [Persistent, Frozen])
def test_right_positional_encodings_pass(cls):
    checks.check_positional_encoding(cls)


def test_an_encoding_without_offset_passes_only_when_asked_for(capsys):
    checks.check_positional_encoding(WithoutOffset, with_offset=False)
    assert "5 checks passed" in capsys.readouterr().out
    with pytest.raises(checks.CheckFailed, match="takes 2 positional arguments but 3 were given"):
        checks.check_positional_encoding(WithoutOffset)


# ------------------------------------------------------------------ the whole model


class WithTorchsOwn(nn.Module):
    """An encoder–decoder around torch.nn.Transformer; everything but the interface differs from the package's."""

    def __init__(self, source_vocab_size, target_vocab_size, d_model=512, num_heads=8, d_ff=2048, num_layers=6,
                 dropout=0.1, pad_id=0, max_len=512, tie_embeddings="none"):  # fmt: skip
        super().__init__()
        self.pad_id, self.scale = pad_id, d_model**0.5
        self.source_words = nn.Embedding(source_vocab_size, d_model)
        self.target_words = nn.Embedding(target_vocab_size, d_model)
        self.positions = te.PositionalEncoding(d_model, max_len, dropout)
        self.body = nn.Transformer(d_model, num_heads, num_layers, num_layers, d_ff, dropout, batch_first=True)
        for parameter in self.body.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        self.out = nn.Linear(d_model, target_vocab_size)
        if tie_embeddings != "none":
            self.out.weight = self.target_words.weight
        if tie_embeddings == "all":
            self.source_words.weight = self.target_words.weight

    def encode(self, source):
        x = self.positions(self.source_words(source) * self.scale)
        padding = source == self.pad_id
        return self.body.encoder(x, src_key_padding_mask=padding if padding.any() else None)

    def decode(self, target, memory, source):
        x = self.positions(self.target_words(target) * self.scale)
        return self.body.decoder(
            x,
            memory,
            tgt_mask=~te.causal_mask(target.shape[1]),
            tgt_key_padding_mask=target == self.pad_id,
            memory_key_padding_mask=source == self.pad_id,
        )

    def project(self, x):
        return self.out(x)

    def forward(self, source, target):
        return self.project(self.decode(target, self.encode(source), source))


def test_a_model_around_torchs_own_transformer_passes():
    checks.check_transformer(WithTorchsOwn)


@pytest.mark.parametrize("fields", [{"norm": "pre"}, {"norm": "pre", "final_norm": False}, {"final_norm": True}])
def test_the_packages_variants_pass(fields):
    checks.check_transformer(lambda *sizes, **config: te.build_transformer(*sizes, **config, **fields))


def test_counting_a_real_models_parameters_passes():
    def count(config):
        with torch.device("meta"):
            return torch.tensor(sum(p.numel() for p in te.Transformer(config).parameters()), device="cpu")

    checks.check_parameter_count(count)


# ------------------------------------------------------------------ training and decoding


def test_a_shift_that_hides_the_end_token_from_the_input_passes():
    def shift(target):
        return target[:, :-1].masked_fill(target[:, :-1] == 2, 0), target[:, 1:]

    checks.check_shift(shift)


def test_torchs_cross_entropy_passes():
    checks.check_label_smoothing(
        lambda logits, target, pad_id, smoothing: F.cross_entropy(
            logits.transpose(1, 2), target, ignore_index=pad_id, label_smoothing=smoothing
        )
    )


def test_kl_divergence_plus_entropy_free_form_passes():
    def by_distribution(logits, target, pad_id, smoothing):
        wanted = torch.full_like(logits, smoothing / logits.shape[-1])
        wanted.scatter_add_(-1, target[..., None], torch.full_like(wanted, 1 - smoothing))
        losses = -(wanted * F.log_softmax(logits, -1)).sum(-1)
        return losses[target != pad_id].sum() / (target != pad_id).sum()

    checks.check_label_smoothing(by_distribution)


def test_a_schedule_with_a_case_distinction_passes():
    def rate(step, d_model, warmup_steps):
        peak = 1 / math.sqrt(d_model * warmup_steps)
        return peak * step / warmup_steps if step < warmup_steps else peak * math.sqrt(warmup_steps / step)

    checks.check_warmup_schedule(rate)


def test_a_greedy_search_without_a_cache_passes():
    def search(model, source, bos_id, eos_id, max_len):
        was_training = model.training
        model.eval()
        ids = torch.tensor([[bos_id]] * source.shape[0])
        for _ in range(max_len - 1):
            logits = model(source, ids)[:, -1]
            logits[:, 0] = logits[:, bos_id] = float("-inf")
            chosen = logits.argmax(-1)
            chosen[(ids == eos_id).any(1)] = 0
            ids = torch.cat([ids, chosen.unsqueeze(1)], dim=1)
            if (ids == eos_id).any(1).all():
                break
        model.train(was_training)
        return ids

    checks.check_greedy_search(search)

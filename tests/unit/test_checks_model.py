"""The whole model, its leak check, its training and greedy search: right code passes, real mistakes get their names."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import transformer_edu as te
from tests.unit.checked import accepts, names, refuses

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


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


def with_fields(**fields):
    return lambda *sizes, **config: te.build_transformer(*sizes, **config, **fields)


def count_of_a_real_model(config):
    with torch.device("meta"):
        return torch.tensor(sum(p.numel() for p in te.Transformer(config).parameters()), device="cpu")


def cuts_the_sentence(model, ids):
    model.eval()
    with torch.no_grad():
        whole = model(ids)
        return any(not torch.allclose(model(ids[:, :end]), whole[:, :end], atol=1e-5) for end in range(1, ids.shape[1]))


def asks_for_every_word(model, ids):
    """All words at every later place, the verdict as a tensor."""
    model.train(False)
    logits = model(ids)
    moves = torch.zeros(())
    for place in range(1, ids.shape[1]):
        for word in range(logits.shape[-1]):
            changed = torch.where(torch.arange(ids.shape[1]) == place, word, ids)
            moves = torch.maximum(moves, (model(changed) - logits)[:, :place].abs().amax())
    return moves > 1e-5


def loss_by_distribution(logits, target, pad_id, smoothing):
    wanted = torch.full_like(logits, smoothing / logits.shape[-1])
    wanted.scatter_add_(-1, target[..., None], torch.full_like(wanted, 1 - smoothing))
    losses = -(wanted * F.log_softmax(logits, -1)).sum(-1)
    return losses[target != pad_id].sum() / (target != pad_id).sum()


def rate_with_a_case_distinction(step, d_model, warmup_steps):
    peak = 1 / math.sqrt(d_model * warmup_steps)
    return peak * step / warmup_steps if step < warmup_steps else peak * math.sqrt(warmup_steps / step)


def search_without_a_cache(model, source, bos_id, eos_id, max_len):
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


test_right_code_passes = accepts(
    {
        "transformer": [
            WithTorchsOwn,
            with_fields(norm="pre"),
            with_fields(norm="pre", final_norm=False),
            with_fields(final_norm=True),
        ],
        "parameter count": [count_of_a_real_model],
        "future-leak test": [cuts_the_sentence, asks_for_every_word],
        "shifted target": [lambda target: (target[:, :-1].masked_fill(target[:, :-1] == 2, 0), target[:, 1:])],
        "label smoothing": [
            loss_by_distribution,
            lambda logits, target, pad_id, smoothing: F.cross_entropy(
                logits.transpose(1, 2), target, ignore_index=pad_id, label_smoothing=smoothing
            ),
        ],
        "warm-up schedule": [rate_with_a_case_distinction],
        "greedy search": [search_without_a_cache],
    }
)


def likeliest_words(model, ids):
    model.eval()
    before = model(ids).argmax(-1)
    for place in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % 10
        if (model(changed).argmax(-1) != before)[:, :place].any():
            return True
    return False


def next_id(model, ids):
    model.eval()
    changed = ids.clone()
    changed[:, -1] += 1
    return not torch.allclose(model(ids)[:, :-1], model(changed)[:, :-1])


test_mistakes_as_readers_write_them = names(
    {
        "future-leak test": {
            "the comparison is too coarse": likeliest_words,
            "the new token is outside the vocabulary": next_id,
        },
        "label smoothing": {
            "padding counts": lambda logits, target, pad_id, smoothing: F.cross_entropy(
                logits.flatten(0, 1), target.flatten(), label_smoothing=smoothing
            )
        },
    }
)
test_an_answer_of_the_wrong_kind_is_named = refuses(
    {
        "future-leak test": [
            (None, "returned None, expected True or False"),
            ("no", "returned a str, expected True or False"),
            (torch.zeros(2) > 0, "returned a Tensor, expected True or False"),
        ],
        "input embedding": [(torch.zeros(3), "makes a Tensor, expected a torch.nn.Module")],
        "positional encoding": [([4], "makes a list, expected a torch.nn.Module")],
        "transformer": [({}, "makes a dict, expected a torch.nn.Module")],
        "shifted target": [(None, "returned None")],
        "warm-up schedule": [(None, "returned None, expected one number")],
        "softmax": [(None, "is the `return` missing?")],
    }
)

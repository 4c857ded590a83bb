"""Mistakes in code that readers write, unlike the catalogue's own, get their names; so do answers of the wrong kind."""

import math
from collections import Counter
from functools import partial, reduce
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from torch.nn.utils.rnn import pad_sequence

import transformer_edu as te
from tests.unit.checked import diagnosis, failure, told
from transformer_edu.data.byte_pairs import merge
from transformer_edu.decoding.sampling import sampling_probabilities

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


def widely_copied_attention(query, key, value, mask=None, *, fill=-1e9, drop=0.0):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, fill)
    return torch.matmul(F.dropout(F.softmax(scores, dim=-1), drop), value)


def softmax_in_place(scores):
    scores -= scores.amax(-1, keepdim=True)
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return scores


def widely_copied_table(max_len, d_model):
    position = torch.arange(0, max_len).unsqueeze(1).float()
    frequency = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(position * frequency)
    pe[:, 1::2] = torch.cos(position * frequency)
    return pe


def widely_copied_norm(x, gamma, beta, eps=1e-6):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta


def likeliest_words(model, ids):
    model.eval()
    before = model(ids).argmax(-1)
    for place in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % 10
        if (model(changed).argmax(-1) != before)[:, :place].any():
            return True
    return False


def leak_test(new, part):
    """A reader's loop over all places: the new token, and which part of the earlier outputs is compared."""

    @torch.no_grad()
    def sees_the_future(model, ids):
        model.eval()
        before = model(ids)
        for place in range(1, ids.size(1)):
            changed = ids.clone()
            changed[:, place] = new(ids[:, place])
            if not torch.allclose(part(model(changed), place), part(before, place), atol=1e-4):
                return True
        return False

    return sees_the_future


def next_one(token):
    return (token + 1) % 10


def one_list_cleared_and_used_again(lengths, max_tokens):
    batches, batch = [], []
    for index in range(len(lengths)):
        widest = max(max(lengths[i]) for i in [*batch, index])
        if widest * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch.clear()
        batch.append(index)
    return [*batches, batch] if batch else batches


def cut_by_assignment(logits, temperature, top_k, top_p):
    p = sampling_probabilities(logits, temperature, top_k, top_p)
    logits[p == 0] = -torch.inf
    return F.softmax(logits / temperature, dim=-1)


def widely_copied_beam(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    """Ended answers stay in the list."""
    beam = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        longer = []
        for ids, total in beam:
            if ids[-1] == eos_id:
                longer.append((ids, total))
                continue
            longer += [([*ids, token], total + p) for token, p in next_log_probs(ids).items()]
        beam = sorted(longer, key=lambda pair: pair[1], reverse=True)[:beam_size]
    return max(beam, key=lambda pair: (pair[0][-1] == eos_id, pair[1] / ((4 + len(pair[0])) / 6) ** length_penalty))


def returned_when_seen(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    beam = [([bos_id], 0.0)]
    for _ in range(max_len - 1):
        longer = [([*ids, t], total + p) for ids, total in beam for t, p in next_log_probs(ids).items()]
        beam = sorted(longer, key=lambda pair: -pair[1])[:beam_size]
        for ids, total in beam:
            if ids[-1] == eos_id:
                return ids, total
    return beam[0]


def mean_of_sacrebleus(hypotheses, references, *, effective_order=False):
    """As sacrebleu scores single sentences, and as they must not be averaged."""
    metric = BLEU(tokenize="none", smooth_method="none", effective_order=effective_order)
    pairs = zip(hypotheses, references, strict=True)
    return sum(metric.sentence_score(" ".join(h), [" ".join(r)]).score for h, r in pairs) / len(hypotheses)


def one_maximum_for_all(scores):
    powers = np.exp(scores.numpy() - scores.numpy().max())
    return powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-12)


def timescales_of_tensor2tensor(max_len, d_model):
    """Its frequencies; the columns as in the paper."""
    step = math.log(10000) / (d_model // 2 - 1)
    angles = np.arange(max_len)[:, None] * np.exp(-step * np.arange(d_model // 2))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(max_len, d_model)


def halves_by_a_table_of_neighbours(x, start=0):
    """The other direction than the catalogue's."""
    table = te.sinusoidal_table(start + len(x), x.shape[1])[start:]
    sin, cos = (table[:, first::2].repeat_interleave(2, dim=1) for first in (0, 1))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([second, -first], dim=-1) * sin


def alphabetical_merges(word_counts, num_merges):
    words, merges = {(*word, "·"): count for word, count in word_counts.items()}, []
    for _ in range(num_merges):
        pairs = Counter()
        for symbols, count in words.items():
            for pair in pairwise(symbols):
                pairs[pair] += count
        if not pairs:
            break
        merges.append(sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[0][0])
        words = merge(words, merges[-1])
    return merges


def bleu_of_sets(hypotheses, references):
    logs = []
    for n in range(1, 5):
        both = [
            tuple({tuple(words[i : i + n]) for i in range(len(words) - n + 1)} for words in pair)
            for pair in zip(hypotheses, references, strict=True)
        ]
        matches, said = sum(len(h & r) for h, r in both), sum(len(h) for h, _ in both)
        logs.append(math.log(matches / said) if matches else -math.inf)
    c, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
    return 100 * math.exp(min(0, 1 - r / c) + sum(logs) / 4)


def mask_after_ends(ids, begin_id):
    mask = te.causal_mask(ids.shape[1])[None].repeat(len(ids), 1, 1)
    for row, place in (ids == begin_id).nonzero().tolist():
        mask[row, place + 1 :, : place + 1] = False
    return mask[:, None]


def padded_behind(prompts, pad_id):
    ids = pad_sequence([torch.tensor(prompt) for prompt in prompts], True, pad_id)
    return ids, torch.arange(ids.shape[1]).expand_as(ids), ids != pad_id


def turned_round_once(prompts, pad_id):
    ids, _, real = padded_behind(prompts, pad_id)
    return ids.flip(1), (real.flip(1).cumsum(1) - 1).clamp(min=0), real.flip(1)


def after_list_index(weights, ids):
    ids = ids.tolist()
    found = [weights[:, t, ids.index(token) + 1] for t, token in enumerate(ids) if token in ids[:t]]
    return torch.stack(found).mean(0) if found else torch.zeros(len(weights))


def every_pair_of_equal_tokens(weights, ids):
    same = (ids[:, None] == ids).tril(-1)
    return (weights * same.roll(1, dims=1)).sum((1, 2)) / same.sum().clamp(min=1)


def without_any_cache(model, ids, steps):
    for _ in range(steps):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return ids


def a_new_cache_each_step(model, ids, steps):
    new = ids
    for _ in range(steps):
        new = model(new, model.start_cache())[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], dim=1)
    return ids


WRONG = [
    ("attention", "blocked scores are set to 0", partial(widely_copied_attention, fill=-1e-9)),
    ("attention", "a query that may look at nothing takes the mean", widely_copied_attention),
    ("attention", "dropout is always on", partial(widely_copied_attention, drop=0.3)),
    ("attention", "`.T` reverses all four dimensions", lambda q, k, v, mask=None: F.softmax(q @ k.T / 2, dim=-1) @ v),
    (
        "attention entropy",
        "a weight of 0 gives NaN",
        lambda weights: -(weights * weights.log2()).sum(-1).mean(-1) / math.log2(weights.shape[-1]),
    ),
    (
        "attention rollout",
        "the layers are multiplied in the wrong order",
        lambda maps: reduce(torch.matmul, [0.5 * layer.mean(0) + 0.5 * torch.eye(layer.shape[-1]) for layer in maps]),
    ),
    ("softmax", "the call changes its input: scores", softmax_in_place),
    ("sinusoidal table", "the angles are computed in float32", widely_copied_table),
    ("layer normalization", "the standard deviation is Bessel-corrected and ε is added", widely_copied_norm),
    (
        "layer normalization",
        "the mean is not subtracted, and x is divided by the root",
        lambda x, gamma, beta, eps=1e-5: F.rms_norm(x, x.shape[-1:], gamma, eps) + beta,
    ),
    (
        "masked batch normalization",
        "`real` is not used",
        lambda x, real, eps=1e-5: F.batch_norm(x.mT, None, None, training=True, eps=eps).mT,
    ),
    ("future-leak test", "the comparison is too coarse", likeliest_words),
    ("future-leak test", "only the first output", leak_test(next_one, lambda logits, place: logits[:, 0])),
    (
        "future-leak test",
        "only the output right before",
        leak_test(next_one, lambda logits, place: logits[:, place - 1]),
    ),
    (
        "future-leak test",
        "every token is replaced by the same one",
        leak_test(lambda token: torch.full_like(token, 1), lambda logits, place: logits[:, :place]),
    ),
    ("future-leak test", "only the first sentence", leak_test(next_one, lambda logits, place: logits[0, :place])),
    (
        "label smoothing",
        "padding counts",
        lambda logits, target, pad_id, smoothing: F.cross_entropy(logits.mT, target, label_smoothing=smoothing),
    ),
    (
        "answer loss",
        "the first token of each answer is not learned",
        lambda logits, ids, starts, pad_id: F.cross_entropy(
            logits[:, :-1].mT,
            ids[:, 1:].where((torch.arange(ids.shape[1] - 1) >= starts[:, None]) & (ids[:, 1:] != pad_id), -100),
        ),
    ),
    (
        "answer loss",
        "the request is learned, too",
        lambda logits, ids, starts, pad_id: F.cross_entropy(logits[:, :-1].mT, ids[:, 1:], ignore_index=pad_id),
    ),
    (
        "preference loss",
        "the model as it was is forgotten",
        lambda better, worse, _, __, beta: F.softplus(beta * (worse - better)).mean(),
    ),
    (
        "preference loss",
        "the logarithm of a sigmoid that has become 0",
        lambda a, b, c, d, beta: -torch.log(1 / (1 + torch.exp(-beta * (a - b - c + d)))).mean(),
    ),
    (
        "language-model loss",
        "the targets are not shifted",
        lambda logits, ids, pad_id: F.cross_entropy(logits.mT, ids, ignore_index=pad_id),
    ),
    (
        "language-model loss",
        "padding counts",
        lambda logits, ids, pad_id: F.cross_entropy(logits[:, :-1].reshape(-1, 4), ids[:, 1:].reshape(-1)),
    ),
    (
        "language-model loss",
        "the logarithm of a probability that has become 0",
        lambda logits, ids, pad_id: F.nll_loss(logits[:, :-1].softmax(-1).log().mT, ids[:, 1:], ignore_index=pad_id),
    ),
    ("document mask", "the texts see each other", lambda ids, begin_id: te.causal_mask(ids.shape[1])),
    ("document mask", "the begin token belongs to the text before it", mask_after_ends),
    ("shared keys", "the heads take turns", lambda x, num_heads: torch.cat([x] * (num_heads // x.shape[1]), dim=1)),
    ("shared keys", "the heads take turns", lambda x, num_heads: x[:, torch.arange(num_heads) % x.shape[1]]),
    (
        "window mask",
        "the window is one too long",
        lambda size, window: torch.ones(size, size, dtype=torch.bool).tril().triu(-window),
    ),
    (
        "window mask",
        "the future is seen",
        lambda size, window: torch.ones(size, size).triu(1 - window).tril(window - 1) > 0,
    ),
    (
        "rotary layout",
        "the order is the inverse one",
        lambda weight, heads: weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape),
    ),
    (
        "rotary layout",
        "the rows of all heads are mixed",
        lambda weight, heads: torch.cat([weight[0::2], weight[1::2]]),
    ),
    (
        "expert gates",
        "the bias is in the gates",
        lambda scores, bias, k: torch.zeros_like(scores).scatter(
            1, *reversed([(v := (scores + bias).topk(k)).values / v.values.sum(1, True), v.indices])
        ),
    ),
    (
        "expert gates",
        "the gates do not sum to 1",
        lambda scores, bias, k: scores * (scores + bias >= (scores + bias).topk(k).values[:, -1:]),
    ),
    ("left padding", "the padding stands on the right", padded_behind),
    ("left padding", "the prompts come back reversed", turned_round_once),
    ("induction scores", "the earliest occurrence counts", after_list_index),
    ("induction scores", "all earlier occurrences count", every_pair_of_equal_tokens),
    ("continued text", "the text is right, but all of it is read again", without_any_cache),
    ("continued text", "the cache is left out after the prompt", a_new_cache_each_step),
    ("softmax", "the maximum of the whole tensor is subtracted, and the sums", one_maximum_for_all),
    ("sinusoidal table", "the last pair has the frequency 1/10000", timescales_of_tensor2tensor),
    ("byte-pair merges", "on a tie the pair that is first in the alphabet", alphabetical_merges),
    ("feed-forward network", "large entries", lambda x, w1, b1, w2, b2: (x @ w1 + b1).clamp(0, 6) @ w2 + b2),
    ("corpus BLEU", "each n-gram counts once", bleu_of_sets),
    (
        "target mask",
        "padding is blocked as a query too",
        lambda ids, pad_id: torch.tril((ids != pad_id)[:, None, :, None] & (ids != pad_id)[:, None, None, :]),
    ),
    ("rotary positions", "the pairing is mixed", halves_by_a_table_of_neighbours),
    ("batches by budget", "all batches are one and the same list", one_list_cleared_and_used_again),
    ("sampling probabilities", "the logits are changed in place", cut_by_assignment),
    ("beam search", "an answer that has ended keeps its place in the beam", widely_copied_beam),
    ("beam search", "the first answer that ends stops the search", returned_when_seen),
    ("corpus BLEU", "BLEU is averaged over the sentences", mean_of_sacrebleus),
    (
        "corpus BLEU",
        "BLEU is averaged over the sentences, with shorter n-grams",
        partial(mean_of_sacrebleus, effective_order=True),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "mistake", "candidate"), WRONG)
def test_a_mistake_as_readers_write_it_is_named(name, mistake, candidate):
    assert diagnosis(name, candidate).startswith(mistake)


ROOTS = {  # what √d could be taken for in a trial where both are the same number, as √4 and 4 / 2 are
    "d / 2": lambda d: d / 2,
    "log2 d": math.log2,
    "ln d": math.log,
    "the whole part of √d": math.isqrt,
    "√(d + 1)": lambda d: math.sqrt(d + 1),
}


@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_no_other_formula_gives_the_right_scale_by_the_sizes_of_the_trials(root):
    def attention(query, key, value, mask=None):
        return te.scaled_dot_product_attention(query * query.size(-1) ** 0.5 / root(query.size(-1)), key, value, mask)

    assert failure("attention", attention).mistake is None


def test_no_other_size_stands_in_for_d_head_in_the_trials():
    for size in (0, 1, 2):  # batch, heads, tokens

        def attention(query, key, value, mask=None, size=size):
            ratio = math.sqrt(query.size(-1) / query.size(size))
            return te.scaled_dot_product_attention(query * ratio, key, value, mask)

        failure("attention", attention)


UNFIT = {
    "attention": [(None, "returned None"), ((1, 2, 3), "returned 3 things, expected output or (output, weights)")],
    "batches by budget": [
        (None, "is the `return` missing"),
        ("01", "returned a str, expected a list of batches"),
        ([0, 1], "returned 0 among the batches, expected a list of indices"),
        ([[0.0, 1.0]], "returned [0.0, 1.0] among the batches"),
        ([[torch.zeros(2)]], "returned [tensor([0., 0.])] among the batches"),
    ],
    "beam search": [
        (None, "returned None, expected (ids, log_prob): is the `return` missing?"),
        ("[1, 2]", "returned a str, expected (ids, log_prob)"),
        (([1, 2], -0.5, 3), "returned 3 things, expected two"),
        ((-0.5, [1, 2]), "returned a float as ids"),
        (([1, 2.5], -0.5), "returned [1, 2.5] as ids, expected a list of whole numbers"),
        (([], math.nan), "none of the known mistakes"),
    ],
    "byte-pair merges": [
        ("ab", "returned a str, expected a list of pairs"),
        ([("a", "b", "c")], "returned ('a', 'b', 'c') among the merges"),
        (["ab"], "returned 'ab' among the merges"),
    ],
    "corpus BLEU": [("66.9", "returned a str, expected one number"), (math.nan, "got = nan")],
    "future-leak test": [
        (None, "returned None, expected True or False"),
        ("no", "returned a str, expected True or False"),
        (torch.zeros(2) > 0, "returned a Tensor, expected True or False"),
    ],
    "answer loss": [(None, "returned None, expected one number"), (torch.ones(2), "a tensor of shape (2,)")],
    "preference loss": [("no", "returned a str, expected one number")],
    "language-model loss": [("no", "returned a str, expected one number"), (torch.ones(3), "a tensor of shape (3,)")],
    "left padding": [
        (None, "returned None, expected (ids, positions, real)"),
        ((torch.zeros(2, 2), torch.zeros(2), torch.zeros(2, 2)), "returned the shapes (2, 2), (2,), (2, 2)"),
    ],
    "sampling probabilities": [("no", "returned a str, expected a tensor"), (torch.ones(2, 2), "shape (2, 2)")],
    "shifted target": [(None, "returned None")],
    "softmax": [(None, "is the `return` missing?")],
    "warm-up schedule": [(None, "returned None, expected one number")],
}


@pytest.mark.parametrize(
    ("name", "answer", "words"), [(name, *case) for name, cases in UNFIT.items() for case in cases]
)
def test_an_answer_of_the_wrong_kind_is_named(name, answer, words):
    found = failure(name, lambda *given, **named: answer)
    assert words in told(found)
    assert found.mistake is None


def test_a_wrong_use_of_next_log_probs_is_named():
    found = failure("beam search", lambda next_log_probs, bos_id, *rest: next_log_probs(bos_id))
    assert "next_log_probs takes a list of ids, bos_id first, got int" in told(found)

"""Right code passes, however it is written: other formulas, numpy, other libraries, the package's own classes."""

import heapq
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from torch import nn
from torch.nn.utils.rnn import pad_sequence

import transformer_edu as te
from tests.unit.checked import COMPONENTS, run
from transformer_edu.book.exercises.checks import components
from transformer_edu.book.exercises.checks.components.beam_search import best_answer
from transformer_edu.decoding.writer import PromptWriter
from transformer_edu.inspect import contributions
from transformer_edu.inspect.heads import attention_entropy

pytestmark = pytest.mark.usefixtures("as_readers_run_it")


# ------------------------------------------------------------------ attention


def with_an_additive_mask(query, key, value, mask=None):
    scores = torch.matmul(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2))
    if mask is not None:
        lowest = torch.finfo(scores.dtype).min
        scores = scores + torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, lowest)
    weights = torch.softmax(scores, dim=-1)
    return [(weights if mask is None else weights * mask.any(-1, keepdim=True)) @ value, None]


def with_rows_that_are_chosen(query, key, value, mask=None):
    """A blind query looks at all keys, and what it finds is thrown away."""
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value)
    sees = mask.any(-1, keepdim=True)
    found = F.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~sees)
    return torch.where(sees, found, torch.zeros((), dtype=value.dtype))


def with_renormalization(query, key, value, mask=None):
    exponentials = torch.exp((query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).float())
    exponentials = exponentials if mask is None else exponentials * mask
    weights = (exponentials / exponentials.sum(-1, keepdim=True).clamp(min=1e-12)).to(value.dtype)
    return weights @ value, weights


# ------------------------------------------------------------------ the block of today


def window_by_numpy(size, window):
    back = np.arange(size)[:, None] - np.arange(size)
    return torch.from_numpy((back >= 0) & (back < window))


def gates_by_loops(scores, bias, top_k):
    gates = []
    for row in scores:
        best = sorted(range(len(row)), key=lambda i: float(row[i] + bias[i]), reverse=True)[:top_k]
        total = sum(row[i] for i in best)
        gates.append(torch.stack([row[i] / total if i in best else 0 * row[i] for i in range(len(row))]))
    return torch.stack(gates)


def gates_of_a_softmax(scores, bias, top_k):
    """The softmax of the chosen logarithms is their share."""
    least = (scores + bias).topk(top_k).values[:, -1:]
    return scores.log().masked_fill(scores + bias < least, -torch.inf).softmax(-1)


def gates_by_numpy_choice(scores, bias, top_k):
    chosen = np.argsort(-(scores + bias).detach().numpy(), axis=1)[:, :top_k]
    gates = torch.zeros_like(scores)
    for row, places in enumerate(chosen):
        gates[row, places] = scores[row, places] / scores[row, places].sum()
    return gates


def rows_one_by_one(weight, num_heads):
    moved, d_head = torch.empty_like(weight), len(weight) // num_heads
    for row in range(len(weight)):
        head, entry = divmod(row, d_head)
        moved[head * d_head + entry // 2 + entry % 2 * d_head // 2] = weight[row]
    return moved


# ------------------------------------------------------------------ positions


def table_with_loops(max_len, d_model):
    table = np.zeros((max_len, d_model))
    for i in range(d_model // 2):
        table[:, 2 * i] = np.sin(np.arange(max_len) / 10000 ** (2 * i / d_model))
        table[:, 2 * i + 1] = np.cos(np.arange(max_len) / 10000 ** (2 * i / d_model))
    return table


def turned_as_in_roformer(x, start=0):
    """Neighbours, the other way round."""
    theta = 10000 ** (-torch.arange(0, x.size(1), 2) / x.size(1))
    angle = ((start + torch.arange(x.size(0)))[:, None] * theta).repeat_interleave(2, dim=1)
    crossed = torch.stack([-x[:, 1::2], x[:, 0::2]], dim=-1).reshape(x.shape)
    return x * angle.cos() + crossed * angle.sin()


def turned_as_in_llama(x, start=0):
    """A feature of the first half with one of the second."""
    frequencies = 1.0 / 10000 ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angle = torch.outer(torch.arange(start, start + len(x)).float(), frequencies)
    cos, sin = (torch.cat([half, half], dim=-1) for half in (angle.cos(), angle.sin()))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def turned_as_complex_numbers(x, start=0):
    angle = torch.outer(torch.arange(start, start + len(x)), 10000 ** (-torch.arange(0, x.shape[1], 2) / x.shape[1]))
    turned = torch.view_as_complex(x.unflatten(1, (-1, 2)).contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(1)


# ------------------------------------------------------------------ heads


def induction_with_a_dictionary(weights, ids):
    scores, last = [0.0] * len(weights), {}
    repeated = 0
    for t, token in enumerate(ids.tolist()):
        if token in last:
            repeated += 1
            scores = [score + float(head[t, last[token] + 1]) for score, head in zip(scores, weights, strict=True)]
        last[token] = t
    return [score / repeated if repeated else 0.0 for score in scores]


def induction_with_einsum(attn, tokens):
    """Which weights are meant, as a matrix of 0 and 1."""
    same = (tokens[:, None] == tokens[None, :]).tril(-1).float()
    latest = same * (same.flip(-1).cumsum(-1).flip(-1) == 1)  # the last 1 of each row
    total = torch.einsum("hqk,qk->h", attn, latest.roll(1, dims=-1))
    return total / latest.sum().clamp(min=1)


def induction_with_numpy(weights, ids):
    w, ids = weights.numpy(), ids.numpy()
    found = [w[:, t, np.flatnonzero(ids[:t] == ids[t])[-1] + 1] for t in range(len(ids)) if ids[t] in ids[:t]]
    return np.mean(found, axis=0) if found else np.zeros(len(w))


def induction_by_advanced_indexing(pattern, ids):
    place = torch.arange(len(ids))
    before = torch.where((ids[:, None] == ids) & (place[:, None] > place), place, -1).amax(-1)
    queries = (before >= 0).nonzero().squeeze(-1)
    return pattern[:, queries, before[queries] + 1].mean(-1).nan_to_num()


# ------------------------------------------------------------------ norms and networks


def norm_in_place_on_a_copy(x, gamma, beta, eps=1e-5):
    x = x.double().clone()
    x -= x.mean(dim=-1).unsqueeze(-1)
    x /= (x.square().sum(-1, keepdim=True) / x.size(-1) + eps).sqrt_()
    return torch.addcmul(beta.double(), gamma.double(), x)


def batch_norm_with_torchs_own(x, real, eps=1e-5):
    result = x.new_zeros(x.shape)
    result[real] = F.batch_norm(x[real], None, None, training=True, eps=eps)
    return result


def network_with_einsum(x, w1, b1, w2, b2):
    hidden = np.maximum(np.einsum("bsd,df->bsf", x, w1) + b1.numpy(), 0)
    return np.einsum("bsf,fd->bsd", hidden, w2) + b2.numpy()


# ------------------------------------------------------------------ layers


class AsModule(nn.Module):
    """A function as a module; an attention's mask is dropped, and so are key and value where it takes one tensor."""

    def __init__(self, function, takes=1):
        super().__init__()
        self.function, self.takes = function, takes

    def forward(self, *inputs):
        return self.function(*inputs[: self.takes])


def the_packages_decoder_layer(x, memory, self_attention, cross_attention, feed_forward, norms):
    parts = {
        "self_attention": AsModule(self_attention, takes=3),
        "cross_attention": AsModule(cross_attention, takes=3),
        "feed_forward": AsModule(feed_forward),
    }
    layer = te.DecoderLayer(**parts, residual=te.ResidualConnection(nn.Identity()))
    residuals = layer.self_attention_residual, layer.cross_residual, layer.feed_forward_residual
    for residual, norm in zip(residuals, norms, strict=True):
        residual.norm = AsModule(norm)
    return layer(x, memory)


def decoder_layer_with_named_arguments(x, memory, self_attention, cross_attention, feed_forward, norms):
    x = norms[0](x + self_attention(x, x, x))
    x = norms[1](x + cross_attention(query=x, key=memory, value=memory))
    return norms[2](x + feed_forward(x))


def count_of_a_real_model(config):
    with torch.device("meta"):
        return torch.tensor(sum(p.numel() for p in te.Transformer(config).parameters()), device="cpu")


def cuts_the_sentence(model, ids):
    model.eval()
    whole = model(ids)
    ends = range(1, ids.shape[1])
    return torch.tensor(any(not torch.allclose(model(ids[:, :end]), whole[:, :end], atol=1e-5) for end in ends))


def rewrites_all_that_follows(model, ids):
    """Every token after a place at once, in evaluation mode, with numpy's comparison and its kind of boolean."""
    training, size = model.training, model(ids).shape[-1]
    model.train(False)
    with torch.inference_mode():
        before = model(ids).numpy()
        for kept in range(1, ids.shape[1]):
            other = torch.cat([ids[:, :kept], size - 1 - ids[:, kept:]], dim=1)
            if not np.allclose(model(other).numpy()[:, :kept], before[:, :kept], atol=1e-5):
                break
        else:
            kept = 0
    model.train(training)
    return np.bool_(kept)


# ------------------------------------------------------------------ batches, training, searches, scores


def pack_by_cuts(lengths, max_tokens):
    """Where the batches end, then slices; numpy's integers in tuples."""
    cuts = [0]
    for end in range(1, len(lengths)):
        if np.max(lengths[cuts[-1] : end + 1]) * (end + 1 - cuts[-1]) > max_tokens:
            cuts.append(end)
    return tuple(tuple(np.arange(start, end)) for start, end in pairwise([*cuts, len(lengths)]) if end > start)


def loss_by_distribution(logits, target, pad_id, smoothing):
    wanted = torch.full_like(logits, smoothing / logits.shape[-1])
    wanted.scatter_add_(-1, target[..., None], torch.full_like(wanted, 1 - smoothing))
    losses = -(wanted * F.log_softmax(logits, -1)).sum(-1)
    return losses[target != pad_id].sum() / (target != pad_id).sum()


def next_tokens_one_by_one(logits, ids, pad_id):
    parts = [
        torch.logsumexp(logits[row, place], 0) - logits[row, place, ids[row, place + 1]]
        for row in range(len(ids))
        for place in range(ids.size(1) - 1)
        if ids[row, place + 1] != pad_id
    ]
    return sum(parts) / len(parts)


def masked_targets_of_hugging_face(logits, input_ids, pad_token_id):
    """Labels with -100 for padding, which cross_entropy leaves out by itself; classes in dimension 1."""
    labels = input_ids.masked_fill(input_ids == pad_token_id, -100)
    return F.cross_entropy(logits[..., :-1, :].transpose(1, 2), labels[..., 1:])


def next_tokens_with_einsum(logits, ids, pad_id):
    targets = F.one_hot(ids[:, 1:], logits.size(-1)).float() * (ids[:, 1:] != pad_id)[..., None]
    return -torch.einsum("bsv,bsv->", logits[:, :-1].log_softmax(-1), targets) / targets.sum()


def padded_by_numpy(prompts, pad_id):
    ids = np.full((len(prompts), max(map(len, prompts))), pad_id)
    real, places = np.zeros(ids.shape, dtype=bool), np.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, -len(prompt) :] = prompt
        real[row, -len(prompt) :] = True
        places[row, -len(prompt) :] = np.arange(len(prompt))
    return ids, places, real


def padded_as_hugging_face_does(prompts, pad_token_id):
    """Positions of padding are 1 there."""
    batch = pad_sequence([torch.tensor(p) for p in prompts], True, pad_token_id, padding_side="left")
    attention_mask = (batch != pad_token_id).long()
    position_ids = attention_mask.cumsum(-1) - 1
    return batch, position_ids.masked_fill(attention_mask == 0, 1), attention_mask.bool()


def padded_by_two_turns(prompts, pad_id):
    ids = pad_sequence([torch.tensor(prompt[::-1]) for prompt in prompts], True, pad_id).flip(1)
    missing = torch.tensor([[ids.shape[1] - len(prompt)] for prompt in prompts])
    place = torch.arange(ids.shape[1]) - missing
    return [ids, place % ids.shape[1], place >= 0]


def padded_with_lists(prompts, pad_id):
    longest = max(len(prompt) for prompt in prompts)
    gaps = [longest - len(prompt) for prompt in prompts]
    return (
        [[pad_id] * gap + prompt for gap, prompt in zip(gaps, prompts, strict=True)],
        [[0] * gap + list(range(longest - gap)) for gap in gaps],
        [[False] * gap + [True] * (longest - gap) for gap in gaps],
    )


def mask_by_loops(ids, begin_id):
    mask = torch.zeros(len(ids), 1, ids.shape[1], ids.shape[1], dtype=torch.bool)
    for row, tokens in enumerate(ids.tolist()):
        for query in range(len(tokens)):
            for key in range(query, -1, -1):
                mask[row, 0, query, key] = True
                if tokens[key] == begin_id:
                    break
    return mask


def mask_of_last_begins(input_ids, bos_token_id):
    """A key may be seen from where the query's own text began up to the query."""
    place = torch.arange(input_ids.shape[1])
    began = torch.where(input_ids == bos_token_id, place, 0).cummax(-1).values
    return ((place >= began[..., None]) & (place <= place[:, None])).unsqueeze(1).expand(-1, 4, -1, -1)


def mask_by_numpy(ids, begin_id):
    numbers = np.add.accumulate(ids.numpy() == begin_id, axis=1, dtype=np.int64)
    return torch.from_numpy(np.tril(numbers[:, None, :, None] == numbers[:, None, None, :]))


def mask_of_blocks(ids, begin_id):
    rows = []
    for row in ids:
        cuts = [0, *(row == begin_id).nonzero().flatten().tolist(), len(row)]
        rows.append(torch.block_diag(*(torch.ones(b - a, b - a).tril() for a, b in pairwise(cuts))).bool())
    return torch.stack(rows)[:, None]


def rate_with_a_case_distinction(step, d_model, warmup_steps):
    peak = 1 / math.sqrt(d_model * warmup_steps)
    return peak * step / warmup_steps if step < warmup_steps else peak * math.sqrt(warmup_steps / step)


def widely_copied_filter(logits, temperature, top_k, top_p):
    """A mask in sorted order, shifted by one, scattered back."""
    logits = logits / temperature
    if top_k is not None:
        least = torch.topk(logits, min(top_k, logits.size(-1))).values[..., -1, None]
        logits = logits.masked_fill(logits < least, -math.inf)
    if top_p is not None:
        ordered, places = torch.sort(logits, descending=True)
        remove = F.softmax(ordered, dim=-1).cumsum(dim=-1) > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(-1, places, remove), -math.inf)
    return F.softmax(logits, dim=-1)


def probabilities_row_by_row(logits, temperature, top_k, top_p):
    rows = logits.numpy().astype(float).reshape(-1, logits.shape[-1]) / temperature
    result = np.zeros_like(rows)
    for row, own in zip(rows, result, strict=True):
        order = np.argsort(-row)[:top_k]
        p = np.exp(row[order] - row.max())
        p /= p.sum()
        if top_p is not None:
            count = int(np.searchsorted(np.cumsum(p), top_p)) + 1
            order, p = order[:count], p[:count] / p[:count].sum()
        own[order] = p
    return result.reshape(logits.shape)


def answers_one_by_one(logits, ids, starts, pad_id):
    """Python's own loops."""
    losses = []
    for row, texts, start in zip(logits, ids.tolist(), starts.tolist(), strict=True):
        for place in range(start, len(texts)):
            if texts[place] != pad_id:
                losses.append(row[place - 1].logsumexp(0) - row[place - 1, texts[place]])
    return sum(losses) / len(losses)


def answers_as_labels_of_minus_100(logits, ids, starts, pad_id):
    """As in Hugging Face's data collators."""
    labels = ids.clone()
    for row, start in zip(labels, starts.tolist(), strict=True):
        row[:start] = -100
    labels[ids == pad_id] = -100
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1))


def answers_cut_out(logits, ids, starts, pad_id):
    """Only what counts is looked at."""
    counts = (torch.arange(ids.shape[1]) >= starts[:, None]) & (ids != pad_id)
    return F.cross_entropy(logits[:, :-1][counts[:, 1:]], ids[:, 1:][counts[:, 1:]])


def search_with_a_heap(next_log_probs, bos_id, eos_id, max_len, beam_size, length_penalty):
    """Tuples, a heap, no early stop."""
    beam, best = [(0.0, (bos_id,))], []
    for length in range(1, max_len):
        every = ((total + p, (*ids, token)) for total, ids in beam for token, p in next_log_probs(ids).items())
        first = heapq.nlargest(2 * beam_size, every)
        for rank, (total, ids) in enumerate(first):
            if ids[-1] == eos_id and rank < beam_size:
                best.append((total / ((5 + length) / 6) ** length_penalty, total, ids))
        beam = [hypothesis for hypothesis in first if hypothesis[1][-1] != eos_id][:beam_size]
    total, ids = max(best)[1:] if best else beam[0]
    return ids, total


def search_with_careless_hands(next_log_probs, *settings):
    """Changes the lists and dictionaries that it is given; the answers stay right."""

    def careless(ids):
        row = next_log_probs(ids)
        kept = dict(row)
        row.clear()
        ids.clear()
        return kept

    return best_answer(careless, *settings)


@torch.no_grad()
def prompt_first_then_a_loop(model, idx, max_new_tokens):
    """With one pass at the end that nobody needs, on the model's own device."""
    cache, idx = model.start_cache(), idx.to(next(model.parameters()).device)
    logits = model.eval()(idx, cache)
    for _ in range(max_new_tokens):
        idx_next = torch.topk(F.softmax(logits[:, -1], dim=-1), k=1).indices
        idx = torch.cat((idx, idx_next), dim=1)
        logits = model(idx_next, cache)
    return idx


def row_by_row_in_lists(model, ids, steps):
    """Each prompt with a cache of its own; the last step's keys are not computed."""
    rows = []
    for row in ids.tolist():
        cache = model.start_cache()
        logits = model(torch.tensor([row]), cache) if steps else None
        for step in range(steps):
            row = [*row, int(logits[0, -1].argmax())]
            logits = model(torch.tensor([row[-1:]]), cache) if step + 1 < steps else None
        rows.append(row)
    return rows


def into_a_tensor_of_full_size(model, ids, steps):
    """All of the prompt but its last token first; what is new is what the cache has not."""
    n, cache = ids.shape[1], model.start_cache()
    text = F.pad(ids, (0, steps))
    if n > 1:
        model(text[:, : n - 1], cache)
    for end in range(n, n + steps):
        text[:, end] = model(text[:, cache.length : end], cache)[:, 0].max(-1).indices
    return text


def with_a_prompt_writer(model, ids, steps):
    """The package's writer, given the prompt but for its last token."""
    writer, text, new = PromptWriter(model, ids[:, :-1]), [ids], ids[:, -1:]
    for _ in range(steps):
        new = writer.next_logits(new).argmax(-1)[:, None]
        text.append(new)
    return torch.hstack(text)


def sacrebleu_itself(hypotheses, references):
    metric = BLEU(tokenize="none", smooth_method="none")
    return metric.corpus_score([" ".join(h) for h in hypotheses], [[" ".join(r) for r in references]]).score


RIGHT = {
    "answer loss": [answers_one_by_one, answers_as_labels_of_minus_100, answers_cut_out],
    "attention": [
        components.attention.attend,
        with_an_additive_mask,
        with_renormalization,
        with_rows_that_are_chosen,
        lambda query, key, value, mask=None: F.scaled_dot_product_attention(query, key, value, attn_mask=mask),
    ],
    "attention entropy": [
        components.attention_entropy.entropy,
        lambda weights: torch.special.entr(weights).sum(-1).mean(-1) / math.log(weights.shape[-1]),
        attention_entropy,
        lambda weights: torch.distributions.Categorical(probs=weights).entropy().mean(-1) / math.log(weights.shape[-1]),
        lambda weights: torch.special.xlogy(weights, weights).sum(-1).mean(-1) / -math.log(weights.shape[-1]),
    ],
    "attention rollout": [components.attention_rollout.rollout, contributions.rollout],
    "batches by budget": [components.batches.fill, pack_by_cuts],
    "beam search": [
        components.beam_search.search,
        search_with_a_heap,
        search_with_careless_hands,
        lambda *given: tuple(map(torch.tensor, best_answer(*given))),
    ],
    "causal mask": [
        lambda size: torch.arange(size)[None, :] <= torch.arange(size)[:, None],
        lambda size: ~torch.triu(torch.ones(1, size, size, dtype=torch.bool), diagonal=1),
        lambda size: torch.tril(torch.ones(1, 1, size, size)) == 1,
    ],
    "continued text": [
        prompt_first_then_a_loop,
        into_a_tensor_of_full_size,
        row_by_row_in_lists,
        with_a_prompt_writer,
    ],
    "corpus BLEU": [sacrebleu_itself, lambda h, r: round(sacrebleu_itself(h, r), 2)],
    "decoder layer": [components.decoder_layer.layer, decoder_layer_with_named_arguments, the_packages_decoder_layer],
    "feed-forward network": [
        lambda x, w1, b1, w2, b2: F.linear(F.linear(x, w1.T, b1).clamp(min=0), w2.T, b2),
        network_with_einsum,
    ],
    "future-leak test": [cuts_the_sentence, rewrites_all_that_follows],
    "greedy search": [components.greedy_search.search],
    "induction scores": [
        induction_with_a_dictionary,
        induction_with_einsum,
        induction_with_numpy,
        induction_by_advanced_indexing,
    ],
    "label smoothing": [loss_by_distribution],
    "language-model loss": [
        next_tokens_one_by_one,
        masked_targets_of_hugging_face,
        next_tokens_with_einsum,
        lambda logits, ids, pad_id: F.cross_entropy(
            logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=pad_id
        ),
        lambda logits, ids, pad_id: te.label_smoothing(logits[:, :-1], ids[:, 1:], pad_id, 0.0),
        lambda logits, ids, pad_id: F.nll_loss(
            logits.log_softmax(-1).flatten(0, 1), F.pad(ids[:, 1:], (0, 1), value=pad_id).flatten(), ignore_index=pad_id
        ),
    ],
    "layer normalization": [
        components.layer_norm.norm,
        lambda x, gamma, beta, eps=1e-5: F.layer_norm(x, x.shape[-1:], gamma, beta, eps),
        lambda x, gamma, beta, eps=1e-5: (
            gamma * (x - x.mean(-1, True)) * ((x**2).mean(-1, True) - x.mean(-1, True) ** 2 + eps).rsqrt() + beta
        ),
        norm_in_place_on_a_copy,
    ],
    "shared keys": [
        lambda x, num_heads: x[:, :, None].expand(-1, -1, num_heads // x.shape[1], -1, -1).flatten(1, 2),
        lambda x, num_heads: torch.stack([x[:, h * x.shape[1] // num_heads] for h in range(num_heads)], dim=1),
        lambda x, num_heads: x[:, torch.arange(num_heads) // (num_heads // x.shape[1])],
    ],
    "window mask": [
        lambda size, window: torch.ones(size, size, dtype=torch.bool).tril().triu(1 - window),
        lambda size, window: torch.tensor([[j <= i < j + window for j in range(size)] for i in range(size)])[
            None, None
        ],
        window_by_numpy,
    ],
    "rotary layout": [
        lambda weight, num_heads: weight.view(num_heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape),
        lambda weight, num_heads: torch.cat([torch.cat([head[0::2], head[1::2]]) for head in weight.chunk(num_heads)]),
        rows_one_by_one,
    ],
    "expert gates": [gates_by_loops, gates_of_a_softmax, gates_by_numpy_choice],
    "document mask": [mask_by_loops, mask_of_last_begins, mask_by_numpy, mask_of_blocks],
    "left padding": [padded_by_numpy, padded_as_hugging_face_does, padded_by_two_turns, padded_with_lists],
    "masked batch normalization": [components.masked_batch_norm.norm, batch_norm_with_torchs_own],
    "padding mask": [lambda ids, pad_id: ids.ne(pad_id)[:, None, None].expand(-1, 4, ids.shape[1], -1)],
    "parameter count": [count_of_a_real_model],
    "position rotation": [
        lambda k, theta: [[math.cos(k * theta), math.sin(k * theta)], [-math.sin(k * theta), math.cos(k * theta)]]
    ],
    "preference loss": [
        lambda a, b, c, d, beta: F.softplus(beta * ((b - d) - (a - c))).mean(),
        lambda a, b, c, d, beta: F.binary_cross_entropy_with_logits(beta * (a - b - c + d), torch.ones_like(a)),
        lambda a, b, c, d, beta: F.cross_entropy(
            beta * torch.stack([a - c, b - d], dim=-1), torch.zeros_like(a, dtype=torch.long)
        ),
    ],
    "residual connection": [components.residual.wired()],
    "rotary positions": [turned_as_in_roformer, turned_as_in_llama, turned_as_complex_numbers],
    "sampling probabilities": [
        components.sampling_probabilities.probabilities,
        widely_copied_filter,
        probabilities_row_by_row,
    ],
    "shifted target": [lambda target: (target[:, :-1].masked_fill(target[:, :-1] == 2, 0), target[:, 1:])],
    "sinusoidal table": [table_with_loops],
    "softmax": [
        lambda scores, dim=-1: torch.exp(scores - scores.logsumexp(dim, keepdim=True)),
        lambda scores: np.exp(scores.numpy() - np.logaddexp.reduce(scores.numpy(), -1, keepdims=True)),
    ],
    "split and merge": [
        (
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1), dim=1),
            lambda heads: torch.cat(list(heads.unbind(1)), dim=-1),
        )
    ],
    "target mask": [lambda ids, pad_id: torch.tril((ids != pad_id)[:, None, None, :].expand(-1, -1, ids.shape[1], -1))],
    "warm-up schedule": [rate_with_a_case_distinction],
}


@pytest.mark.parametrize(("name", "candidate"), [(name, code) for name, some in RIGHT.items() for code in some])
@pytest.mark.long
def test_right_code_passes(name, candidate, capsys):
    run(name, candidate)
    assert capsys.readouterr().out == f"✓ {name}: {len(COMPONENTS[name].trials)} checks passed\n"

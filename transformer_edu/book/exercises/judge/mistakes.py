"""The known mistakes of the checks, put as steps into a machine; and those that only a whole class can make."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

import torch
from torch import Tensor

from transformer_edu.book.exercises.checks.components.attention import attend as in_steps
from transformer_edu.book.exercises.checks.components.decoder_layer import decoder_layer
from transformer_edu.book.exercises.checks.components.layer_norm import norm
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.kind import known
from transformer_edu.book.exercises.judge.model import (
    Heads,
    Layer,
    Steps,
    attend,
    look_up,
    merge_heads,
    pre_norm_decoder,
)
from transformer_edu.masks import causal_mask, padding_mask

Wrong = tuple[Mistake, Steps]


Step = TypeVar("Step")


def named(name: str, why: str, hint: str, symptom: str) -> Mistake:
    """A known mistake without code of its own."""
    return Mistake(name, symptom, why, hint)


def entry(name: str, why: str, hint: str, symptom: str, step: Step) -> tuple[Mistake, Step]:
    """A known mistake, and what makes it."""
    return named(name, why, hint, symptom), step


def _causal_unasked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    if mask is None:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return attend(q, k, v, mask)


def _twice(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = attend(q, k, torch.eye(k.shape[-2]), mask)
    return weights.softmax(-1) @ v


def _exponentials(scores: Tensor, dim: int) -> Tensor:
    return (scores - scores.amax(dim, keepdim=True)).exp()


def of_equation_one() -> Iterator[tuple[Mistake, Callable[..., Tensor]]]:
    """What is not in the catalogue of attention: it takes more than one head, or another form of the call."""
    yield entry(
        "it is causal although no mask was given",
        "is_causal=True, or a triangle made inside, hides the future from encoders and cross-attention too.",
        "What does your function do when mask is None?",
        "the encoder reads from left to right only",
        _causal_unasked,
    )
    yield entry(
        "each token gets its own value back: the sum runs over the weights alone",
        "in the einsum of the second step one letter stands for two things; the key's letter has to be in both "
        "factors and not in the result.",
        "Which letter of your einsum is summed over?",
        "attention does nothing, and its maps look right",
        lambda q, k, v, mask=None: v + 0 * attend(q, k, v, mask),
    )
    yield entry(
        "keys look at queries: the scores are transposed",
        "K Qᵀ has a row for each key; the softmax over its last dimension lets keys choose queries.",
        "Which shape do your scores have when there are four queries and six keys?",
        "a shape error across, silent nonsense in self-attention; causal masks block the past",
        lambda q, k, v, mask=None: attend(k, q, v, mask),
    )
    yield entry(
        "the weights are read the wrong way round: each output sums over the queries",
        "in the second product the weights' last dimension, the keys, has to be summed over.",
        "Which letter of your second einsum is summed over, and is it the key's?",
        "a shape error across; in self-attention words are passed to those that looked, not to those that look",
        lambda q, k, v, mask=None: attend(q, k, torch.eye(k.shape[-2]), mask).transpose(-2, -1) @ v,
    )
    yield entry(
        "the exponentials are divided by their sum over the queries",
        "each query shares one whole among its keys: the sum runs over the last dimension.",
        "Which dimension of your weights sums to one?",
        "weights that depend on how many queries there are; a causal mask then leaks",
        partial(in_steps, normalize=lambda s: _exponentials(s, -1) / _exponentials(s, -1).sum(-2, keepdim=True)),
    )
    yield entry(
        "what is taken away before the exponential is the largest score of a column, not of a row",
        "softmax stays the same if one number is taken away from a whole row; by columns it is another for each key.",
        "Along which dimension does your maximum run?",
        "keys that all queries look at get less weight than they should",
        partial(in_steps, normalize=lambda s: _exponentials(s, -2) / _exponentials(s, -2).sum(-1, keepdim=True)),
    )
    yield entry(
        "the mask only switches a causal mask on",
        "is_causal=mask is not None: what stands in the mask is never read.",
        "Change one entry of your mask. Does the answer change?",
        "padding is looked at, and encoders read from left to right",
        lambda q, k, v, mask=None: attend(q, k, v) if mask is None else _causal_unasked(q, k, v),
    )
    yield entry(
        "the division by √d_head comes after the softmax",
        "softmax(QKᵀ) / √d is another function than softmax(QKᵀ / √d): the weights sum to 1/√d, and are too sharp.",
        "What do the weights of one query sum to?",
        "attention maps that are nearly one-hot, and small outputs",
        lambda q, k, v, mask=None: attend(q * q.shape[-1] ** 0.5, k, v, mask) / q.shape[-1] ** 0.5,
    )
    yield entry(
        "softmax is applied twice",
        "weights go through a second softmax, which makes them nearly even.",
        "How often does softmax stand between scores and values?",
        "attention maps that are almost flat",
        _twice,
    )
    yield entry(
        "the scores are divided by √d_model, not by √d_head",
        "each head's dot product has d_head terms, not d_model.",
        "Over how many numbers does one head's dot product run?",
        "weights that are too even, the more so the more heads there are",
        partial(in_steps, divisor=lambda q: (q.shape[1] * q.shape[-1]) ** 0.5),
    )
    yield entry(
        "each head adds its scores to those of the heads before it",
        "scores += ... in a loop over the heads: a head's scores are its own, and begin at zero.",
        "Which variable of your loop over heads lives on into the next round?",
        "only the first head looks as it should, and later heads look more and more alike",
        partial(in_steps, change=lambda scores: scores.cumsum(1)),
    )
    yield entry(
        "the scores are divided by d_model",
        "each head's dot product has a standard deviation of √d_head.",
        "Over how many numbers does one head's dot product run?",
        "nearly even weights",
        partial(in_steps, divisor=lambda q: float(q.shape[1] * q.shape[-1])),
    )
    yield entry(
        "the scores are divided by the root of the number of heads",
        "√d_head is meant: the length of one head's vectors, not how many heads there are.",
        "Which of your two numbers is d_head?",
        "sharpness changes with the number of heads",
        partial(in_steps, divisor=lambda q: float(q.shape[1]) ** 0.5),
    )
    yield entry(
        "all scores are 0: the scale is rounded down",
        "d ** -1 // 2, and 1 // √d, are whole numbers: 0.",
        "Print your scale.",
        "each token gets the mean of all values, and W_Q and W_K no gradient",
        partial(in_steps, change=lambda scores: 0 * scores),
    )
    yield entry(
        "the scores are divided by the root of the number of keys",
        "√d_head is meant: the length of one head's vectors, not of the sentence.",
        "Does your factor change with the length of the sentence?",
        "weights that are the more even the longer a sentence is",
        partial(in_steps, divisor=lambda q: 1.0, change=lambda scores: scores / scores.shape[-1] ** 0.5),
    )


def _one_as_view(place: int, *heads: Any) -> Tensor:
    """Attention whose queries, keys or values were cut without the transpose."""
    turned = [merge_heads(x).view(x.shape) if i == place else x for i, x in enumerate(heads[:3])]
    return attend(*turned, *heads[3:])


def of_attention() -> Iterator[Wrong]:
    """The steps of equation 1, the split into heads, and the projections."""
    yield from _of_projections()
    for mistake, wrong in (*known("attention"), *of_equation_one()):
        yield mistake, Steps(attend=wrong)
    for mistake, (split, merge) in known("split and merge"):
        yield mistake, Steps(split=split, merge=merge)
        yield mistake, replace(Steps(), split=split)
        yield mistake, replace(Steps(), merge=merge)
    for place, which in enumerate(("queries", "keys", "values")):
        yield entry(
            f"the {which} are cut into heads without the transpose, the others with it",
            "a view of (batch, seq, d_model) as (batch, heads, seq, d_head) mixes the numbers of different tokens.",
            "Which three lines of your code should look alike, and do they?",
            "shapes are right, and early outputs depend on later tokens",
            Steps(attend=partial(_one_as_view, place)),
        )
    yield entry(
        "heads are cut and joined by reshape alone: numbers of different tokens mix",
        "(batch, seq, d_model) becomes (batch, seq, heads, d_head) by a view, and heads and tokens change places "
        "by a transpose; so on the way back.",
        "Which of the numbers 0 .. 11 of two tokens does your second head get?",
        "shapes are right, and early outputs depend on later tokens",
        Steps(
            split=lambda x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1),
            merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1),
        ),
    )
    yield entry(
        "heads are folded into the batch in one order and unfolded in another",
        "(batch · heads) was made with the sentences outside and is read with the heads outside: sentences mix.",
        "Which of the two numbers comes first in your view() before the product, and which in the one behind it?",
        "a sentence's answer changes with the others of its batch; one sentence alone is right",
        Steps(merge=lambda x: merge_heads(x.flatten(0, 1).unflatten(0, x.shape[1::-1]).transpose(0, 1))),
    )
    yield entry(
        "the number of heads and d_head have changed places: there are d_head heads of num_heads numbers each",
        "view(batch, seq, num_heads, d_head), and then the transpose of the two in the middle.",
        "How many maps of weights does your layer make, and how many heads did you ask for?",
        "it trains, with heads that are too many or too few, and no weights of others fit",
        Steps(split=lambda x, heads: x.unflatten(-1, (-1, heads)).transpose(1, 2), share=lambda x, heads: x),
    )


def _from(source: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> Steps:
    return Steps(project=source)


def _plain_output(heads: Heads, merged: Tensor) -> Tensor:
    return merged


def _head_by_head(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """As if heads and tokens had not changed places: each token's heads look at one another."""
    return attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)


def _of_projections() -> Iterator[Wrong]:
    yield entry(
        "the value goes through the key's projection",
        "W_V is made and not used: what is passed on is what keys are compared by.",
        "Which of your four projections does forward not call?",
        "W_V gets no gradient; the model learns, but less than it could",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(k), heads.key(v))),
    )
    yield entry(
        "the key goes through the query's projection",
        "W_K is made and not used, so that each token looks at what is like itself.",
        "Which of your four projections does forward not call?",
        "W_K gets no gradient; scores are symmetric",
        _from(lambda heads, q, k, v: (heads.query(q), heads.query(k), heads.value(v))),
    )
    yield entry(
        "the key goes through the value's projection",
        "W_K is made and not used.",
        "Which of your four projections does forward not call?",
        "W_K gets no gradient",
        _from(lambda heads, q, k, v: (heads.query(q), heads.value(k), heads.value(v))),
    )
    yield entry(
        "query and key are projected from each other's input",
        "in cross-attention the queries come from the target and the keys from the memory, not the other way.",
        "Which argument does W_Q read, and which W_K?",
        "self-attention is right; cross-attention answers with the wrong length, or with the wrong words",
        _from(lambda heads, q, k, v: (heads.query(k), heads.key(q), heads.value(v))),
    )
    yield entry(
        "the key is projected from the query's input",
        "the argument `key` is never read: queries are compared with themselves.",
        "What does your forward do with its second argument?",
        "right in self-attention; across, a shape error or the wrong words",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(q), heads.value(v))),
    )
    yield entry(
        "keys and values are projected from the query's input",
        "key and value, as they were handed over, are never read: this is self-attention whatever it is given.",
        "What happens in your forward when key differs from query?",
        "the decoder never sees the source",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(q), heads.value(q))),
    )
    yield entry(
        "the value is projected from the key's input",
        "the argument `value` is never read.",
        "What does your forward do with its third argument?",
        "right wherever key and value are the same tensor, wrong elsewhere",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(k), heads.value(k))),
    )
    yield entry(
        "the value is projected from the query's input",
        "the argument `value` is never read.",
        "What does your forward do with its third argument?",
        "right in self-attention, wrong across",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(k), heads.value(q))),
    )
    yield entry(
        "the key is projected from the value's input",
        "the argument `key` is never read.",
        "What does your forward do with its second argument?",
        "right wherever key and value are the same tensor",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(v), heads.value(v))),
    )
    yield entry(
        "the value is not projected",
        "W_V is left out, or made and never called.",
        "How many of Q, K and V pass through a matrix of their own?",
        "heads pass on slices of the input as it stands",
        _from(lambda heads, q, k, v: (heads.query(q), heads.key(k), v)),
    )
    yield entry(
        "query, key and value are not projected",
        "the three projections are left out, or made and never called.",
        "What do W_Q, W_K and W_V do in your forward?",
        "nothing that attention looks for can be learned",
        _from(lambda heads, q, k, v: (q, k, v)),
    )
    yield entry(
        "one projection serves query, key and value",
        "the paper has W_Q, W_K and W_V; here all three are the same matrix.",
        "How many matrices take part in computing Q, K and V?",
        "each token looks above all at itself",
        _from(lambda heads, q, k, v: (heads.query(q), heads.query(k), heads.query(v))),
    )
    yield entry(
        "the output projection is missing",
        "Concat(head₁ … head_h) W_O: the last matrix is left out, or made and never called.",
        "What mixes the heads after they have been put side by side?",
        "heads never meet: each fills its own slice of the output",
        Steps(output=_plain_output),
    )
    yield entry(
        "heads and tokens do not change places: the heads of one token look at one another",
        "the shape is (batch, len, heads, d_head) after the split, and its last two dimensions are taken for len "
        "and d_head.",
        "Which two dimensions do the scores have in your code: q_len × k_len, or heads × heads?",
        "no token ever sees another; masks do nothing or do not fit",
        Steps(attend=_head_by_head),
    )
    yield entry(
        "tokens attend across the batch, not across the sentence",
        "the first dimension is taken for the tokens (nn.MultiheadAttention expects (len, batch, d_model) unless "
        "batch_first=True).",
        "Which of your dimensions do the weights sum to one over? Try a batch of one.",
        "a sentence's result changes with the other sentences of its batch",
        Steps(
            split=lambda x, h: x.transpose(0, 1).unflatten(-1, (h, -1)).transpose(1, 2),
            merge=lambda x: x.transpose(1, 2).flatten(-2).transpose(0, 1),
            mask=lambda mask: None,
        ),
    )


def of_feed_forward() -> Iterator[Wrong]:
    """Equation 2."""
    for mistake, wrong in known("feed-forward network"):
        yield mistake, Steps(feed_forward=wrong)


def of_norm() -> Iterator[Wrong]:
    """The norm of a token."""
    for mistake, wrong in known("layer normalization"):
        yield mistake, Steps(norm=wrong)
    yield entry(
        "mean and variance are taken over tokens and features together",
        "each token is normalized by itself, whatever its neighbours are.",
        "Change one token. Which others change behind the norm?",
        "a token's result depends on the others, also on later ones: a decoder sees the future",
        Steps(norm=partial(norm, dim=(-2, -1))),
    )
    yield entry(
        "batch norm stands in the place of layer norm",
        "in evaluation batch norm uses what it has seen in training, and does not look at the token at all.",
        "Multiply one token by ten. What should stand behind the norm?",
        "training and evaluation differ; sentences of a batch, padding too, change one another",
        Steps(norm=lambda x, gamma, beta, eps=1e-5: gamma * x / (1 + eps) ** 0.5 + beta),
    )


def _square(x: Tensor, dim: Any = -1) -> Tensor:
    return x.pow(2).mean(dim, keepdim=True)


def _length(x: Tensor) -> Tensor:
    return x.pow(2).sum(-1, keepdim=True)


OUTSIDE = "ε stands outside the root and its reciprocal, where it changes nothing: a token of zeros becomes NaN"
RMS: tuple[tuple[str, str, Callable[[Tensor, Tensor, float], Tensor]], ...] = (
    (
        "the mean is taken away: this is layer norm",
        "RMSNorm scales without centring.",
        lambda x, gamma, eps: norm(x, gamma, torch.zeros(()), eps),
    ),
    *(
        ("the squares are summed, not averaged", "the root of the sum is √d times too large.", wrong)
        for wrong in (
            lambda x, gamma, eps: gamma * x / (_length(x) + eps).sqrt(),
            lambda x, gamma, eps: gamma * x / (_length(x).sqrt() + eps),
            lambda x, gamma, eps: gamma * torch.nn.functional.normalize(x, dim=-1, eps=eps),
        )
    ),
    (
        "the root is missing",
        "mean(x²) is divided by, not its root.",
        lambda x, gamma, eps: gamma * x / (_square(x) + eps),
    ),
    (
        "it multiplies by the root",
        "the root of the mean square is what is divided by.",
        lambda x, gamma, eps: gamma * x * (_square(x) + eps).sqrt(),
    ),
    (
        "the mean of the absolute values, not the root of the mean square",
        "a mean of |x| is another measure.",
        lambda x, gamma, eps: gamma * x / (x.abs().mean(-1, keepdim=True) + eps),
    ),
    (
        "the root of the mean, squared afterwards",
        "mean(x)² is not mean(x²).",
        lambda x, gamma, eps: gamma * x / (x.mean(-1, keepdim=True).pow(2) + eps).sqrt(),
    ),
    (
        "the mean runs over the tokens",
        "each token is normalized by itself: dim=-1.",
        lambda x, gamma, eps: gamma * x / (_square(x, -2) + eps).sqrt(),
    ),
    (
        "the mean runs over tokens and features",
        "each token is normalized by itself: dim=-1.",
        lambda x, gamma, eps: gamma * x / (_square(x, (-2, -1)) + eps).sqrt(),
    ),
    (
        "the mean runs over everything",
        "each token is normalized by itself: dim=-1.",
        lambda x, gamma, eps: gamma * x / (x.pow(2).mean() + eps).sqrt(),
    ),
    (
        "the gain γ is not used",
        "the learned gain is made and never multiplied in.",
        lambda x, gamma, eps: x / (_square(x) + eps).sqrt(),
    ),
    (
        "the gain γ is added, not multiplied",
        "γ scales each feature.",
        lambda x, gamma, eps: gamma + x / (_square(x) + eps).sqrt(),
    ),
    (
        "ε stands outside the root and is missing inside",
        "a token of zeros is divided by ε alone.",
        lambda x, gamma, eps: gamma * x / (_square(x).sqrt() + eps),
    ),
    (
        OUTSIDE,
        "a token of zeros is infinity times zero: NaN.",
        lambda x, gamma, eps: gamma * x * (_square(x).rsqrt() + eps),
    ),
    *(
        (
            "the standard deviation is divided by, not the root of the mean square",
            "std takes the mean away, and divides by d − 1 unless told otherwise.",
            wrong,
        )
        for wrong in (
            lambda x, gamma, eps: gamma * x / (x.std(-1, keepdim=True) + eps),
            lambda x, gamma, eps: gamma * x / (x.var(-1, keepdim=True) + eps).sqrt(),
            lambda x, gamma, eps: gamma * x / (x.var(-1, keepdim=True, correction=0) + eps).sqrt(),
        )
    ),
    (
        "there is no ε",
        "a token of zeros becomes NaN.",
        lambda x, gamma, eps: gamma * x / _square(x).sqrt(),
    ),
    (
        "the argument eps is ignored: ε is always 1e-5",
        "the number is written into the formula.",
        lambda x, gamma, eps: gamma * x / (_square(x) + 1e-5).sqrt(),
    ),
)


def of_rms() -> Iterator[tuple[Mistake, Callable[..., Tensor]]]:
    """An RMS norm."""
    for name, why, wrong in RMS:
        hint = "The root of the mean of the squares, over the last dimension: x / √(mean(x²) + ε) · γ."
        yield named(name, why, hint, "vectors of another length than training expects"), wrong


def _no_cross_mask() -> Wrong:
    return entry(
        "cross-attention does not use the source's padding mask",
        "memory_mask is handed over and never reaches the cross-attention.",
        "Follow memory_mask through your forward: which attention takes it?",
        "a sentence's translation changes with the padding behind its source",
        Steps(cross_mask=lambda target, memory, *sizes: None),
    )


def _causal_too(target: Tensor | None, memory: Tensor | None, q_len: int, k_len: int) -> Tensor:
    later = torch.ones(q_len, k_len, dtype=torch.bool).tril()
    return later if memory is None else later & memory


def _masks_of_a_decoder_layer() -> Iterator[Wrong]:
    yield _no_cross_mask()
    yield entry(
        "self-attention does not use the target mask",
        "target_mask is handed over and never reaches the self-attention: every position sees the answer.",
        "Follow target_mask through your forward: which attention takes it?",
        "a training loss that falls far too low",
        Steps(self_mask=lambda target, memory, *sizes: None),
    )
    yield entry(
        "the two masks have changed places",
        "self-attention takes the target's mask, cross-attention the source's.",
        "Which sentence do the keys of each attention come from? Its mask belongs there.",
        "a shape error, or, with equal lengths, a leak of the future",
        Steps(self_mask=lambda target, memory, *sizes: memory, cross_mask=lambda target, memory, *sizes: target),
    )
    yield entry(
        "cross-attention takes the target mask",
        "the keys of cross-attention are the source's words: their mask is memory_mask.",
        "How long are the rows of the mask that your cross-attention gets?",
        "a shape error, or, with equal lengths, words of the source that only later positions see",
        Steps(cross_mask=lambda target, memory, *sizes: target),
    )
    yield entry(
        "cross-attention hides the source's later words",
        "the whole source is known before the first word is written: there is nothing to hide in it but padding.",
        "Which of your two attentions is told to be causal?",
        "the first words of a translation do not see the end of the source",
        Steps(cross_mask=_causal_too),
    )
    yield entry(
        "both attentions take the source's mask",
        "the self-attention's mask is target_mask, which hides the future.",
        "Follow target_mask through your forward.",
        "a training loss that falls far too low",
        Steps(self_mask=lambda target, memory, *sizes: memory),
    )


def _parts_of_encoder(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> list[Any]:
    return [attend, feed_forward]


def _parts_of_decoder(
    x: Tensor, memory: Tensor, self_attention: Any, cross: Any, feed_forward: Any, norms: Any
) -> list[Any]:
    return [
        lambda h, other=None: self_attention(h, h if other is None else other, h if other is None else other),
        lambda h: cross(h, memory, memory),
        feed_forward,
    ]


PRE_NORM_HINT = "In x + part(norm(x)): what is added, and what does the part read?"
PARTS = "attention", "the feed-forward network"
PARTS_OF_DECODER = "self-attention", "cross-attention", "the feed-forward network"


PRE_NORM: dict[str, Callable[..., Tensor]] = {  # of a place, x, the layer's input, the part there, and all norms
    "what is added is the normalized x, not x itself": lambda i, x, start, part, n: n[i](x) + part(n[i](x)),
    "the residual connection is missing": lambda i, x, start, part, n: part(n[i](x)),
    "there is no norm": lambda i, x, start, part, n: x + part(x),
    "a norm stands before the part and another on what it gives": lambda i, x, start, part, n: x + n[i](part(n[i](x))),
    "the norm stands behind the part, before the sum": lambda i, x, start, part, n: x + n[i](part(x)),
}
PRE_NORM_LATER: dict[str, Callable[..., Tensor]] = {
    "what is added is the layer's input, not what the part before gave,": lambda i, x, start, part, n: (
        start + part(n[i](x))
    ),
    "the part reads the layer's input": lambda i, x, start, part, n: x + part(n[i](start)),
    "the part reads what the part before found, without x,": lambda i, x, start, part, n: x + part(n[i](x - start)),
    "one norm stands in two places": lambda i, x, start, part, n: x + part(n[i - 1](x)),
}
LEFT_OUT: dict[str, Callable[..., Tensor]] = {"a part is left out: nothing happens": lambda i, x, *more: x}


def _pre_norm_wirings(parts_of: Callable[..., list[Any]], names: tuple[str, ...]) -> Iterator[tuple[Mistake, Any]]:
    """What can be wrong in x + part(norm(x)), for each part of a layer."""
    everywhere = range(len(names))

    def layer(step: Callable[[int, Tensor, Tensor, Any, Any], Tensor]) -> Callable[..., Tensor]:
        def run(*given: Any) -> Tensor:
            x = start = given[0]
            for place, part in enumerate(parts_of(*given)):
                x = step(place, x, start, part, given[-1])
            return x

        return run

    def usual(place: int, x: Tensor, start: Tensor, part: Any, norms: Any) -> Tensor:
        return x + part(norms[place](x))

    def wrong(places: Any, step: Callable[[int, Tensor, Tensor, Any, Any], Tensor]) -> Callable[..., Tensor]:
        return layer(lambda place, *given: (step if place in places else usual)(place, *given))

    for places in (everywhere, *((place,) for place in everywhere)):
        one = len(places) == 1
        where = f" at {names[places[0]]}" if one else ""
        for name, step in {
            **PRE_NORM,
            **(PRE_NORM_LATER if one and places[0] else {}),
            **(LEFT_OUT if one else {}),
        }.items():
            yield _pre(f"{name}{where}"), wrong(places, step)
    yield (
        _pre("only the query is normalized; keys and values are x as it is"),
        layer(lambda i, x, start, part, n: usual(i, x, start, part, n) if i else x + part(n[0](x), x)),
    )
    yield (
        _pre("the first norm is used in all places"),
        wrong(everywhere, lambda i, x, start, part, n: x + part(n[0](x))),
    )


def _pre(name: str) -> Mistake:
    return named(
        f"{name} (in a pre-norm layer)",
        "each part reads a normalized x, and what it gives is added to x as it was.",
        PRE_NORM_HINT,
        "deep stacks train badly, or what a part found is lost",
    )


def of_encoder_layer() -> Iterator[Wrong]:
    """Its wiring, its mask, and all that its parts can do wrong."""
    yield entry(
        "the layer does not hand its mask on",
        "mask is an argument that the attention never gets.",
        "Follow mask through your forward.",
        "a sentence's vectors change with the padding behind it",
        Steps(mask=lambda mask: None),
    )
    for mistake, wrong in (*known("encoder layer"), *_pre_norm_wirings(_parts_of_encoder, PARTS)):
        yield mistake, Steps(encoder_layer=wrong)
    yield from of_feed_forward()
    yield from of_norm()
    yield from of_attention()


def _memory_normalized(place: int, whole: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, memory, *parts: whole(x, parts[-1][place](memory), *parts)


def _without_third(
    x: Tensor, memory: Tensor, self_attention: Any, cross_attention: Any, feed_forward: Any, norms: Any
) -> Tensor:
    y = norms[0](x + self_attention(x, x, x))
    answer: Tensor = norms[1](y + cross_attention(y, memory, memory))
    return answer


def _with_norms(places: tuple[int, ...], layer: Layer) -> Layer:
    return replace(layer, norms=tuple(layer.norms[place] for place in places))


def _with_shared_part(part: str, layer: Layer) -> Layer:
    assert layer.cross is not None
    return replace(layer, cross=replace(layer.cross, **{part: getattr(layer.self_attention, part)}))


def _of_shared_parts() -> Iterator[Wrong]:
    yield entry(
        "one module is used for both attentions",
        "self-attention and cross-attention have projections of their own.",
        "Which of your two attention modules does forward not call?",
        "fewer parameters are trained than there are",
        Steps(decoder_weights=lambda layer: replace(layer, cross=layer.self_attention)),
    )
    for part in ("query", "key", "value", "output"):
        yield entry(
            f"both attentions use one projection: the {part}'s of self-attention",
            "self-attention and cross-attention have projections of their own.",
            "Which of your projections does forward not call?",
            "fewer parameters are trained than there are",
            Steps(decoder_weights=partial(_with_shared_part, part)),
        )
    for places in ((0, 0, 2), (0, 1, 1), (0, 1, 0), (0, 0, 0)):
        yield entry(
            "one norm stands in two places",
            "each sub-layer has a norm of its own: an index that was copied uses one of them twice, another never.",
            "Which of your norms does forward not call?",
            "fewer parameters are trained than there are",
            Steps(decoder_weights=partial(_with_norms, places)),
        )


def of_decoder_layer() -> Iterator[Wrong]:
    """Its wiring, its masks, and all that its parts can do wrong."""
    yield from _of_shared_parts()
    yield from _masks_of_a_decoder_layer()
    for mistake, wrong in (*known("decoder layer"), *_pre_norm_wirings(_parts_of_decoder, PARTS_OF_DECODER)):
        yield mistake, Steps(decoder_layer=wrong)
    for place, whole in product(range(3), (decoder_layer, pre_norm_decoder)):
        yield entry(
            "the memory goes through one of the layer's norms",
            "the memory is the encoder's answer and is read as it is.",
            "What do the keys of your cross-attention pass through before W_K?",
            "weights of other implementations do not fit",
            Steps(decoder_layer=_memory_normalized(place, whole)),
        )
    yield entry(
        "the feed-forward network is missing",
        "it is made and never called, and so is its norm.",
        "Which argument of your layer does the result not depend on?",
        "fewer parameters are trained than there are",
        Steps(decoder_layer=_without_third),
    )
    yield from of_feed_forward()
    yield from of_norm()
    yield from of_attention()


def _unnormed(norm: Any, x: Tensor) -> Tensor:
    return x


def _scaled(table: Tensor, ids: Tensor) -> Tensor:
    """As is right, and another function than the default: so it stands also where the usual embeddings are not."""
    return table[ids] * table.shape[1] ** 0.5


def _padding_alone(ids: Tensor, pad: int, added: bool = False) -> Tensor:
    """Or, where large negative numbers are added to all scores, everything."""
    padding = ~padding_mask(ids, pad)
    return padding | ~padding.any(-1, keepdim=True) if added else padding


UPSIDE_DOWN = [
    replace(steps, attend=attends)
    for mask, attends in (
        (_padding_alone, attend),
        (_padding_alone, partial(in_steps, zeroed=False)),
        (partial(_padding_alone, added=True), attend),
    )
    for steps in (Steps(source_mask=mask, memory_mask=mask), Steps(source_mask=mask), Steps(memory_mask=mask))
]


def _multiplied(ids: Tensor, pad: int) -> Tensor:
    later, padding = (~mask for mask in (causal_mask(ids.shape[1]), padding_mask(ids, pad)))
    return (later & padding) | ~(later & padding).any(-1, keepdim=True)


def of_whole() -> Iterator[Wrong]:
    """Embeddings, positions, masks, how the stacks are joined, and all that the layers can do wrong."""
    yield entry(
        "the embeddings are multiplied by d_model, not by its root",
        "√d_model is meant.",
        "With d_model 16 the factor is 4. What is yours?",
        "words drown the positions",
        Steps(embed=lambda table, ids: table[ids] * table.shape[1]),
    )
    yield entry(
        "the embeddings are divided by √d_model",
        "section 3.4 multiplies.",
        "Do your embeddings grow or shrink?",
        "positions drown the words",
        Steps(embed=lambda table, ids: table[ids] / table.shape[1] ** 0.5),
    )
    once = Steps(embed=look_up, embed_target=_scaled), Steps(embed=_scaled, embed_target=look_up)
    for side, steps in zip(("source", "target"), once, strict=True):
        yield entry(
            f"the {side}'s embeddings are not multiplied by √d_model, and the other ones are",
            "the factor stands on one side only.",
            "Do both sides use the same embedding class?",
            "words of the two languages have very different scales; tying them makes it worse",
            steps,
        )
    yield entry(
        "no positions are added",
        "attention alone does not know in which order tokens stand.",
        "What tells the first *not* from the second?",
        "the order of words plays no part",
        Steps(place=lambda x, table: x),
    )
    yield entry(
        "the decoder's embeddings get no positions",
        "both languages need them.",
        "What does your decoder add to its embeddings?",
        "the target's words stand in no order but that of the causal mask",
        Steps(place_target=lambda y, table: y),
    )
    yield entry(
        "the encoder's embeddings get no positions",
        "both languages need them.",
        "What does your encoder add to its embeddings?",
        "the source is a bag of words",
        Steps(place=lambda x, table: x, place_target=Steps().place),
    )
    yield entry(
        "each target token also sees the next one",
        "the triangle is cut one diagonal too high: triu(2), or tril(1).",
        "Which is the first entry of row 0 that your mask hides?",
        "a training loss that falls far too low, and nonsense when decoding",
        Steps(
            target_mask=lambda ids, pad: (
                torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril(1) & (ids != pad)[:, None, None]
            )
        ),
    )
    yield entry(
        "two masks of numbers are multiplied, not added: what both hide gets all the weight",
        "−10⁹ times 0 is 0, so what one mask hides is seen; −10⁹ times itself is 10¹⁸.",
        "What is your mask where only one of the two hides? And where both do?",
        "the future is seen, and where there is padding, nothing else",
        Steps(target_mask=_multiplied),
    )
    yield entry(
        "positions are added before the embeddings are scaled",
        "√d_model is for the embeddings alone: (E[ids] + P) · √d_model makes the positions as loud as before.",
        "In which order do you add and multiply?",
        "words and positions stand in the wrong proportion",
        Steps(
            embed=look_up,
            place=lambda x, table: (x + table[: x.shape[1]]) * x.shape[-1] ** 0.5,
        ),
    )
    yield entry(
        "every token gets the position of its batch row",
        "the table is indexed by dimension 0, which is the batch, as if x were (len, batch, d_model).",
        "Print x.shape and pe[: x.size(0)].shape. Which dimension of x are the tokens?",
        "all tokens of a sentence get one and the same position; word order is lost",
        Steps(place=lambda x, table: x + table[: x.shape[0]][:, None]),
    )
    for mistake, wrong in known("sinusoidal table"):
        yield mistake, Steps(table=wrong)
    yield entry(
        "the encoder does not mask the source's padding",
        "every real word also looks at <pad>.",
        "Which mask does your encoder get?",
        "a sentence's translation changes with the padding behind its source",
        Steps(source_mask=lambda ids, pad: None),
    )
    yield entry(
        "the decoder's cross-attention does not mask the source's padding",
        "every target word also looks at the memory of <pad>.",
        "Which mask does your decoder get beside the target's?",
        "a sentence's translation changes with the padding behind its source",
        Steps(memory_mask=lambda ids, pad: None),
    )
    yield entry(
        "the source's padding is not masked anywhere",
        "neither the encoder nor the cross-attention gets a padding mask.",
        "Where is pad_id used in your model?",
        "a sentence's translation changes with the padding behind its source",
        Steps(source_mask=lambda ids, pad: None, memory_mask=lambda ids, pad: None),
    )
    for steps in UPSIDE_DOWN:
        yield entry(
            "the source's padding mask is upside down: of a source, padding alone is looked at",
            "True may attend here and in F.scaled_dot_product_attention; in nn.MultiheadAttention's masks it may not.",
            "What does your mask say of a real word, and what does the attention that takes it make of True?",
            "translations that know nothing of their source",
            steps,
        )
    yield entry(
        "padding is not masked anywhere",
        "the target mask is causal and no more, and neither encoder nor cross-attention gets a padding mask.",
        "Where is pad_id used in your model?",
        "a sentence's translation changes with the padding around it",
        Steps(
            source_mask=lambda ids, pad: None,
            memory_mask=lambda ids, pad: None,
            target_mask=lambda ids, pad: torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril(),
        ),
    )
    yield entry(
        "the encoder hides later words too",
        "the whole source is known before the first word is written: its tokens see one another, later ones, too.",
        "Which mask does your encoder get, and is it made for the target?",
        "the first words of the memory know nothing of the end of the source",
        Steps(source_mask=lambda ids, pad: causal_mask(ids.shape[1]) & padding_mask(ids, pad)),
    )
    yield entry(
        "the encoder's tokens attend across the batch, not across the sentence",
        "the first dimension is taken for the tokens (nn.MultiheadAttention and nn.TransformerEncoderLayer expect "
        "(len, batch, d_model) unless batch_first=True).",
        "Over which of your dimensions do the encoder's weights sum to one? Try a batch of one.",
        "a sentence's translation changes with the other sentences of its batch",
        Steps(encoder_batch_first=False),
    )
    for side, steps in (("encoder", Steps(end_memory=_unnormed)), ("decoder", Steps(end=_unnormed))):
        yield entry(
            f"the {side}'s last norm is made and not used",
            "a pre-norm stack ends with a norm: what its layers add has any scale.",
            "Which of your norms does forward not call?",
            "logits that grow with depth, and weights of others that do not fit",
            steps,
        )
    for mistake, wrong in known("target mask"):
        either = mistake.name.startswith("only the padding")  # where padding ends a sentence, OR lets as much through
        name = "only the padding is blocked: the causal mask is missing, overwritten, or joined with OR"
        yield replace(mistake, name=name) if either else mistake, Steps(target_mask=wrong)
    for mistake, wrong in known("padding mask"):
        yield mistake, Steps(source_mask=wrong, memory_mask=wrong)
        yield mistake, Steps(source_mask=wrong)
        yield mistake, Steps(memory_mask=wrong)
    yield entry(
        "the decoder reads the embedded source, not what the encoder has made of it",
        "the encoder's answer is computed and not used.",
        "What do you hand to the decoder as memory?",
        "the encoder's parameters get no gradient",
        Steps(memory=lambda last, seen: seen[0]),
    )
    yield entry(
        "each decoder layer reads the encoder layer of its own number, not the last one",
        "the memory is what the whole encoder has answered, and all decoder layers read it.",
        "What does the first layer of your decoder read?",
        "the first decoder layers read words that hardly know each other",
        Steps(memory_of=lambda index, memory, seen: seen[index + 1]),
    )
    yield entry(
        "only one encoder layer counts",
        "each layer has to read what the one before it has answered: x = layer(x).",
        "What does the second layer of your loop read?",
        "more layers do not help",
        Steps(memory=lambda last, seen: seen[1]),
    )
    yield entry(
        "the model returns probabilities, not logits",
        "cross_entropy takes logits and applies its own softmax: a second one flattens the loss.",
        "Which function is the last in your forward?",
        "a loss that never falls much below ln V",
        Steps(logits=lambda logits: logits.softmax(-1)),
    )
    for end in (lambda logits: logits.softmax(1), lambda logits: logits.log_softmax(1)):
        yield entry(
            "softmax over the positions at the end",
            "dim=1 is the sentence, not the vocabulary; and logits are wanted.",
            "Which function is the last in your forward, and over which dimension?",
            "a loss that never falls much below ln V",
            Steps(logits=end),
        )
    yield from of_decoder_layer()
    for mistake, wrong in (*known("encoder layer"), *_pre_norm_wirings(_parts_of_encoder, PARTS)):
        yield mistake, Steps(encoder_layer=wrong)

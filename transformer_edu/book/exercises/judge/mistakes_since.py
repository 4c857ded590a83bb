"""What can be wrong in what came after 2017: sight without a memory, shared heads, turned positions, gates, experts."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import gelu, silu

from transformer_edu.book.exercises.checks.components.attention import attend as in_steps
from transformer_edu.book.exercises.checks.components.feed_forward import network
from transformer_edu.book.exercises.checks.components.multi_head_split import merge_heads
from transformer_edu.book.exercises.checks.components.rotary import turn
from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.judge.kind import Function, known
from transformer_edu.book.exercises.judge.mistakes import Wrong, entry, named, of_rms
from transformer_edu.book.exercises.judge.model import (
    Steps,
    alibi,
    attend,
    attend_nearby,
    even_alibi,
    gated,
    norms_around,
    pre_norm_encoder,
)
from transformer_edu.masks import causal_mask

BACK = partial(turn, pair=lambda u, v, cos, sin: (u * cos - v * sin, v * cos + u * sin))


AROUND = {  # of x, a part, and the norms before it and behind it: what can be wrong in x + after(part(before(x)))
    "there is no norm before the part": lambda x, part, before, after: x + after(part(x)),
    "there is no norm behind the part": lambda x, part, before, after: x + part(before(x)),
    "the residual connection is missing": lambda x, part, before, after: after(part(before(x))),
    "the second norm stands behind the sum": lambda x, part, before, after: after(x + part(before(x))),
    "what is added to is the normalized x": lambda x, part, before, after: before(x) + after(part(before(x))),
    "one norm stands before the part and behind it": lambda x, part, before, after: x + before(part(before(x))),
}


def _around(places: tuple[int, ...], step: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def layer(x: Tensor, attend: Any, feed_forward: Any, norms: Any) -> Tensor:
        for place, part in enumerate((attend, feed_forward)):
            before, after = norms[2 * place], norms[2 * place + 1]
            x = step(x, part, before, after) if place in places else x + after(part(before(x)))
        return x

    return layer


def _twice(place: int, other: int) -> Callable[..., Tensor]:
    return lambda x, attend, feed_forward, n: norms_around(
        x, attend, feed_forward, [n[other if i == place else i] for i in range(4)]
    )


def _then(x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
    return x + part(x)


def of_more_norms() -> Iterator[Wrong]:
    """A block of four norms, and one of three, which no model has."""
    why = "x goes on as it is; each part reads what its first norm gives, and its second norm what the part gives."
    hint = "x + norm_behind(part(norm_before(x))): what is added to, and what does each norm read?"
    symptom = "weights of Gemma 2 and 3 do not fit, and deep stacks train badly"
    for (name, step), places in product(AROUND.items(), ((0, 1), (0,), (1,))):
        where = {(0, 1): "", (0,): " at attention", (1,): " at the feed-forward network"}[places]
        told = named(f"{name}{where} (in a block of four norms)", why, hint, symptom)
        yield told, Steps(norms=4, encoder_layer=_around(places, step))
    for place, other in ((2, 1), (2, 0), (3, 1), (3, 0)):
        told = named("one norm stands in two places (in a block of four norms)", why, hint, symptom)
        yield told, Steps(norms=4, encoder_layer=_twice(place, other))
    hint = "How many norms has a block of GPT-2, and what does each of them read?"
    for name, why, layer in (
        (
            "a third norm stands behind the block: that of the end of the whole stack stands in every block",
            "what a block hands on is x and what its parts found; one norm stands behind the last block.",
            lambda x, attend, feed_forward, norms: norms[2](pre_norm_encoder(x, attend, feed_forward, norms)),
        ),
        (
            "a third norm stands in the residual stream, between the two parts",
            "where cross-attention is taken out of the paper's layer, its norm goes with it.",
            lambda x, attend, feed_forward, norms: _then(
                norms[2](x + attend(norms[0](x))), lambda y: feed_forward(norms[1](y))
            ),
        ),
    ):
        yield named(name, why, hint, "weights of other models do not fit"), Steps(norms=3, encoder_layer=layer)


def _triangle(diagonal: int, upper: bool = False, first: bool = False) -> Callable[[Tensor | None, int], Tensor]:
    def see(mask: Tensor | None, size: int) -> Tensor:
        ones = torch.ones(size, size, dtype=torch.bool)
        own = ones.triu(diagonal) if upper else ones.tril(diagonal)
        own[0, 0] |= first
        return own if mask is None else own & mask

    return see


def _cut_at_the_wrong_end(most: int, mask: Tensor | None, size: int) -> Tensor:
    return _triangle(most - size)(mask, size)


def of_sight(causal: bool, masked: bool = True) -> Iterator[Wrong]:
    """Which tokens a block without a memory lets through."""
    if masked:
        yield entry(
            "tokens attend across the batch, not across the sentence",
            "the first dimension is taken for the tokens (nn.MultiheadAttention expects (len, batch, d_model) unless "
            "batch_first=True).",
            "Over which of your dimensions do the weights sum to one? Try a batch of one.",
            "a sentence's result changes with the other sentences of its batch",
            Steps(batch_first=False),
        )
    if causal:
        yield entry(
            "it sees later tokens: nothing hides them",
            "a language model learns to predict the next token; where it is seen, there is nothing to learn.",
            "Change the last token of x. Which tokens of the answer change?",
            "a training loss that falls far too low, and nonsense when it writes",
            Steps(see=lambda mask, size: None),
        )
        for most in (140, 64, 128):  # lengths of the buffers that are asked for here
            yield entry(
                "its causal mask is cut out of a longer one at the wrong end: short texts see all that comes later",
                "rows and columns have to be cut at the same end: mask[:n, :n], or mask[-n:, -n:].",
                "What does your mask say of the first row for a text of three tokens?",
                "a training loss that falls far too low, and nonsense when it writes",
                Steps(see=partial(_cut_at_the_wrong_end, most)),
            )
        strict = _triangle(-1)
        for name, hint, see in (
            (
                "each token also sees the next one: the triangle is cut one diagonal too high",
                "Which is the first entry of row 0 that your mask hides?",
                _triangle(1),
            ),
            (
                "a token does not see itself: the triangle is cut one diagonal too low",
                "What may the first token look at?",
                strict,
            ),
            (
                "a token sees what stands before it, and not itself",
                "Which is the last column that row 3 of your mask lets through?",
                _triangle(-1, first=True),
            ),
            (
                "the triangle is upside down: each token sees itself and what comes later",
                "Which tokens does the last row of your mask let through?",
                _triangle(0, upper=True),
            ),
        ):
            why = "position q may attend to 0 .. q, itself included: torch.tril(ones(n, n)), or not triu(diagonal=1)."
            mistake = named(name, why, hint, "a loss that falls too low, or writing that repeats itself")
            yield mistake, Steps(see=see)
            if see is strict:  # and the first token, which sees nothing, gets the mean of all values
                yield mistake, Steps(see=see, attend=partial(in_steps, zeroed=False))
        if masked:
            yield entry(
                "a mask that it is given takes the place of its own causal one",
                "what may be seen is what both allow: a mask of padding says nothing of what comes later.",
                "Hand over a mask that blocks nothing. Does the first token's answer change?",
                "a training loss that falls far too low wherever texts are padded",
                Steps(see=lambda mask, size: causal_mask(size) if mask is None else mask),
            )
            yield entry(
                "the mask that it is given and its own causal one are joined by or",
                "what may be seen is what both allow, & and not |: each of the two lets through what the other hides.",
                "Row by row: may a token look at a later one that is no padding?",
                "a training loss that falls far too low wherever texts are padded",
                Steps(see=lambda mask, size: causal_mask(size) if mask is None else causal_mask(size) | mask),
            )
            yield entry(
                "the mask that it is given is not used, only its own causal one",
                "padding is read as if it were text.",
                "Which argument of your forward does the result not depend on?",
                "a text's answer changes with the padding beside it",
                Steps(see=lambda mask, size: causal_mask(size)),
            )
    else:
        yield entry(
            "the mask that it is given is not used",
            "mask is an argument that the attention never gets.",
            "Which argument of your forward does the result not depend on?",
            "padding is read, and a decoder sees the future",
            Steps(see=lambda mask, size: None),
        )


def of_shared_heads(num_kv_heads: int) -> Iterator[Wrong]:
    """Which heads of queries share a head of keys and values."""
    if not num_kv_heads:
        return
    for mistake, wrong in known("shared keys"):
        yield mistake, Steps(share=wrong)
    yield entry(
        "keys and values are shared in different orders",
        "a head's keys and values come from one head: repeat_interleave for both, or for both the other way.",
        "Which head of keys, and which of values, does the second head of queries read?",
        "attention looks in one place and reads another",
        Steps(attend=lambda q, k, v, mask=None: attend(q, k, v[:, _in_turns(v.shape[1], num_kv_heads)], mask)),
    )
    yield entry(
        "keys and values are cut into heads without the transpose",
        "a view of (batch, seq, heads · d_head) as (batch, heads, seq, d_head) mixes the numbers of different tokens.",
        "Which lines of your code should look alike, and do they?",
        "shapes are right, and early outputs depend on later tokens",
        Steps(share=lambda heads, n: Steps().share(merge_heads(heads).view(heads.shape), n)),
    )
    yield entry(
        "the scores are divided by √(d_model / num_kv_heads), not by √d_head",
        "d_head is d_model / num_heads, also where fewer heads of keys are there.",
        "Over how many numbers does one head's dot product run?",
        "weights that are too even",
        Steps(attend=lambda q, k, v, mask=None: attend(q * (num_kv_heads / q.shape[1]) ** 0.5, k, v, mask)),
    )


def _in_turns(num_heads: int, num_kv_heads: int) -> Tensor:
    return torch.arange(num_heads) % num_kv_heads * (num_heads // num_kv_heads)


def of_rms_norms() -> Iterator[Wrong]:
    """An RMS norm in a block."""
    for mistake, wrong in of_rms():
        yield mistake, Steps(norm=lambda x, gamma, beta, eps=1e-5, wrong=wrong: wrong(x, gamma, eps))


def _turned_along(x: Tensor, place: int) -> Tensor:
    return turn(x.transpose(place, 2)).transpose(place, 2)


def _in_halves(place: int, way: Function, back: Function, q: Tensor, k: Tensor, v: Tensor, mask: Any = None) -> Any:
    """Queries (or, at place 1, keys) turned anew: each entry of the first half with one of the second."""
    paired = back(k if place else q).unflatten(-1, (2, -1)).mT.flatten(-2)
    turned = way(paired).unflatten(-1, (-1, 2)).mT.flatten(-2)
    return attend(q, turned, v, mask) if place else attend(turned, k, v, mask)


def of_sums() -> Iterator[Wrong]:
    """A block whose two parts stand side by side."""
    sums: tuple[tuple[str, Callable[..., Tensor]], ...] = (
        ("x is added twice", lambda x, attend, inner, n: 2 * x + attend(n[0](x)) + inner(n[1](x))),
        ("x is not added", lambda x, attend, inner, n: attend(n[0](x)) + inner(n[1](x))),
    )
    for name, layer in sums:
        why = "x + attention(norm(x)) + feed_forward(norm(x)): one sum joins what both parts found with x as it was."
        told = named(f"{name}, where both parts stand side by side", why, "How often does x stand in your sum?", STREAM)
        yield told, Steps(encoder_layer=layer)


STREAM = "deep stacks train badly: what goes on from block to block grows, or is lost"


def of_turns() -> Iterator[Wrong]:
    """Rotary positions."""

    def told(name: str, hint: str) -> Mistake:
        why = "queries and keys are turned, each by the angle of its own place in the text, and nothing else is."
        return named(name, why, hint, "what a score says of the distance between two tokens is wrong, or changes")

    which = "Which of Q, K and V go through your rotation?"
    looks: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (
        ("values are turned too", which, lambda q, k, v, mask=None: attend(q, k, turn(v), mask)),
        ("only the queries are turned, not the keys", which, lambda q, k, v, mask=None: attend(q, BACK(k), v, mask)),
        ("only the keys are turned, not the queries", which, lambda q, k, v, mask=None: attend(BACK(q), k, v, mask)),
        ("the queries are turned twice, the keys once", which, lambda q, k, v, mask=None: attend(turn(q), k, v, mask)),
        ("the keys are turned twice, the queries once", which, lambda q, k, v, mask=None: attend(q, turn(k), v, mask)),
        (
            "queries and keys are turned in opposite directions",
            "Does a score stay as it is when the text moves?",
            lambda q, k, v, mask=None: attend(q, BACK(BACK(k)), v, mask),
        ),
    )
    for name, hint, look in looks:
        yield told(name, hint), Steps(turn=turn, attend=look)
    pairs = told(
        "of queries and keys, one is turned in neighbouring pairs, the other in halves", "Which entries make a pair?"
    )
    turns: tuple[tuple[Function, Function], ...] = ((turn, BACK), (BACK, turn))
    for (way, back), place in product(turns, (0, 1)):
        yield pairs, Steps(turn=way, attend=partial(_in_halves, place, way, back))
    for place, counted in ((1, "heads"), (0, "batch")):
        name = f"positions are counted along the {counted}, not along the text"
        yield told(name, "Which dimension has the length of the text?"), Steps(turn=partial(_turned_along, place=place))
    whole = told(
        "the whole vector is turned before it is split into heads", "Over how many entries do your speeds run?"
    )
    yield whole, Steps(turn=lambda x: turn(x.transpose(1, 2).flatten(2)).unflatten(2, (x.shape[1], -1)).transpose(1, 2))
    for mistake, wrong in known("rotary positions"):
        yield mistake, Steps(turn=wrong)


WRONG_SLOPES: tuple[tuple[str, str, Function], ...] = (
    ("near tokens are pushed away, far ones favoured: the sign is wrong", "Which key should a query favour?",
     lambda near, heads, length: -near(heads, length)),
    ("all heads have one slope", "How far does the first head look, and how far the last?",
     lambda near, heads, length: near(heads, length)[:1].expand(heads, -1, -1)),
    ("the heads' slopes stand in reverse order", "Which head is the shortest-sighted?",
     lambda near, heads, length: near(heads, length).flip(0)),
    ("the slopes begin with 1, not with 2^(−8/H)", "What is the first head's slope?",
     lambda near, heads, length: alibi(heads, length, lambda n: 2.0 ** (-8 / n * torch.arange(n)))),
    ("the slopes fall in even steps, not by a factor", "By what is a slope divided to give the next?",
     lambda near, heads, length: alibi(heads, length, lambda n: 1 - torch.arange(n) / n)),
    ("8 / H is cut to a whole number: wrong where H does not divide 8", "What are the slopes of 16 heads?",
     lambda near, heads, length: alibi(heads, length, lambda n: 2.0 ** (-float(8 // n) * torch.arange(1, n + 1)))),
    ("the slopes are 1/h", "By what is a slope divided to give the next?",
     lambda near, heads, length: alibi(heads, length, lambda n: 1 / torch.arange(1, n + 1))),
    ("the slopes are 2^(−h): the number of heads is not used", "What is the last head's slope?",
     lambda near, heads, length: alibi(heads, length, lambda n: 2.0 ** -torch.arange(1, n + 1).float())),
    ("the slopes are 2^(−8(h+1)/H)", "What is the first head's slope?",
     lambda near, heads, length: alibi(heads, length, lambda n: 2.0 ** (-8 / n * torch.arange(2, n + 2)))),
    ("the slopes are powers of 10, not of 2", "By what is a slope divided to give the next?",
     lambda near, heads, length: alibi(heads, length, lambda n: 10.0 ** (-8 / n * torch.arange(1, n + 1)))),
    ("the distance is squared", "How does the bias grow from one token to the next?",
     lambda near, heads, length: -near(heads, length) ** 2 / -near(heads, 2)[:, 1:, :1]),
    ("the bias is divided by the length", "Does the bias between neighbours change with the length?",
     lambda near, heads, length: near(heads, length) / length),
    ("there are no biases", "What is added between neighbours?",
     lambda near, heads, length: torch.zeros(heads, length, length)),
    ("the distance is the key's position, counted from the end of the text alone", "What is added between neighbours?",
     lambda near, heads, length: near(heads, length).transpose(1, 2)),
)  # fmt: skip


def of_slopes() -> Iterator[tuple[Mistake, Callable[..., Tensor]]]:
    """What ALiBi adds to the scores; its slopes as the paper's code has them, and by one formula for any number."""
    for (name, hint, wrong), near in product(WRONG_SLOPES, (alibi, even_alibi)):
        why = "head h of H has the slope 2^(−8h/H), by which a score is lowered for each token in between."
        told = named(name, why, hint, "heads that look too far, or not far enough, in longer texts above all")
        yield told, partial(wrong, near)


def of_nearness() -> Iterator[Wrong]:
    """ALiBi in an attention."""
    for mistake, wrong in of_slopes():
        yield mistake, Steps(attend=partial(attend_nearby, biases=wrong))
    for near in (alibi, even_alibi):
        yield entry(
            "the biases are added before the scores are divided by √d_head",
            "q · k / √d_head and then the bias: what is added before it is divided, too.",
            "What is the bias between neighbours, in the first head, behind your division?",
            "heads that look too far, the more so the wider they are",
            Steps(attend=partial(attend_nearby, biases=near, early=True)),
        )


def _almost_gelu(x: Tensor, constant: float, cubic: float) -> Tensor:
    return x / 2 * (1 + (constant * (x + cubic * x**3)).tanh())


GATED: tuple[tuple[str, str, Callable[..., Tensor]], ...] = (
    (
        "both halves go through the activation",
        "Which of your two matrices' results goes through SiLU?",
        lambda x, gate, up, down: down(silu(gate(x)) * silu(up(x))),
    ),
    *(
        ("the activation stands on the product, not on the gate", "What goes into your activation?", wrong)
        for wrong in (
            lambda x, gate, up, down: down(silu(gate(x) * up(x))),
            lambda x, gate, up, down: down(gelu(gate(x) * up(x))),
        )
    ),
    (
        "there is no activation: the gate is linear",
        "What makes your gate close?",
        lambda x, gate, up, down: down(gate(x) * up(x)),
    ),
    (
        "the two halves are added, not multiplied",
        "What should come out where the gate is zero?",
        lambda x, gate, up, down: down(silu(gate(x)) + up(x)),
    ),
    (
        "the activation stands behind the last matrix",
        "Can your part give a negative number of any size?",
        lambda x, gate, up, down: silu(down(gate(x) * up(x))),
    ),
    (
        "an activation stands behind the last matrix as well",
        "Can your part give a negative number of any size?",
        lambda x, gate, up, down: silu(down(silu(gate(x)) * up(x))),
    ),
    (
        "the gate is a tanh",
        "Which numbers does SiLU give for −5, 0 and 5?",
        lambda x, gate, up, down: down(gate(x).tanh() * up(x)),
    ),
    (
        "the gate is a softmax",
        "Does one entry of your gate change with the others?",
        lambda x, gate, up, down: down(gate(x).softmax(-1) * up(x)),
    ),
    (
        "the gate multiplies itself: the other matrix is not used",
        "Which of your three matrices gets no gradient?",
        lambda x, gate, up, down: down(silu(gate(x)) * gate(x)),
    ),
    (
        "one half goes through the activation alone: the other matrix is not used",
        "Which of your three matrices gets no gradient?",
        lambda x, gate, up, down: down(silu(gate(x))),
    ),
    (
        "x is added inside: a residual connection stands in the part as well as around it",
        "What should come out if the last matrix were zero?",
        lambda x, gate, up, down: x + down(silu(gate(x)) * up(x)),
    ),
)


CONSTANTS = (2**0.5 / math.pi, 0.044715), ((math.pi / 2) ** 0.5, 0.044715), ((2 / math.pi) ** 0.5, 0.44715)


def _wrong_gelus() -> Iterator[tuple[Mistake, Callable[[Tensor], Tensor]]]:
    for constant, cubic in CONSTANTS:
        yield entry(
            "GELU, written by tanh, has another constant than √(2/π) or 0.044715",
            "0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))).",
            "Which numbers does GELU give for −1 and 1?",
            "weights of others almost fit",
            partial(_almost_gelu, constant=constant, cubic=cubic),
        )


def of_gelus() -> Iterator[Wrong]:
    """An activation of GPT, in a part without a gate."""
    for told, inside in _wrong_gelus():
        yield told, Steps(feed_forward=partial(network, inside=inside))


def of_gates() -> Iterator[Wrong]:
    """A gated feed-forward part."""
    for told, inside in _wrong_gelus():
        yield told, Steps(gated=partial(gated, inside=inside))
    for name, hint, wrong in GATED:
        why = "(act(x W_gate) ⊙ x W_up) W_down: one half, activated, says how much of the other passes."
        symptom = "a model that learns less than its size promises, and weights of others that do not fit"
        yield named(name, why, hint, symptom), Steps(gated=wrong)


def _earlier(place: int, last: Tensor, seen: list[Tensor]) -> Tensor:
    return seen[place]


def of_language() -> Iterator[Wrong]:
    """How a language model begins and ends."""
    yield entry(
        "no positions are added",
        "attention alone does not know in which order tokens stand.",
        "What tells the first *not* from the second?",
        "what it writes has the right words in no order",
        Steps(place=lambda x, table: x),
    )
    yield entry(
        "every token gets the position of its batch row",
        "the table is indexed by dimension 0, which is the batch.",
        "How many different positions does one text get?",
        "all tokens of a text get one and the same position",
        Steps(place=lambda x, table: x + table[: x.shape[0]][:, None]),
    )
    yield entry(
        "positions are counted from 1",
        "the first row of the table is position 0.",
        "Which row of your table does the first token get?",
        "the longest text does not fit, and weights of others read one row too far",
        Steps(place=lambda x, table: x + torch.cat([table[1:], table[:1]])[: x.shape[1]]),
    )
    yield entry(
        "the last norm is made and not used",
        "a pre-norm stack ends with a norm, before the projection: what its blocks add has any scale.",
        "Which of your norms does forward not call?",
        "logits that grow with depth, and weights of others that do not fit",
        Steps(end=lambda norm, x: x),
    )
    yield entry(
        "the last norm stands behind every block: it is called in the loop",
        "blocks read the sum of all that was found; one norm stands behind the last of them.",
        "How often is your last norm called when there are two blocks?",
        "right with one block; with more, weights of others do not fit",
        Steps(between=lambda norm, x: norm(x), end=lambda norm, x: x),
    )
    yield entry(
        "the last norm stands behind the embeddings, not behind the blocks",
        "a pre-norm stack ends with a norm, before the projection.",
        "What does your projection read?",
        "logits that grow with depth",
        Steps(begin=lambda norm, x: norm(x), end=lambda norm, x: x),
    )
    yield entry(
        "only the first block hides what comes later",
        "each block needs the causal mask: what one lets through, all later ones have seen.",
        "Which of your blocks get the mask?",
        "a training loss that falls far too low",
        Steps(of_block=lambda index, mask: mask if index == 0 else None),
    )
    for name, hint, memory in (
        ("the last block is not used: what goes into it is projected", "What does your projection read?", 0),
        ("only one block counts", "What does the second block of your loop read?", 1),
    ):
        yield entry(
            name,
            "each block reads what the one before it has answered: x = block(x).",
            hint,
            "more blocks do not help",
            Steps(memory=partial(_earlier, memory)),
        )
    for name, wrong in (
        ("it returns probabilities, not logits", lambda logits: logits.softmax(-1)),
        ("softmax over the positions at the end", lambda logits: logits.softmax(1)),
        ("softmax over the positions at the end", lambda logits: logits.log_softmax(1)),
        ("the logits are not divided by their cap before the tanh", lambda logits: 30 * logits.tanh()),
        ("the logits are shifted by one position: row i belongs to token i + 1", lambda logits: logits.roll(-1, 1)),
        ("the logits are shifted by one position: row i belongs to token i − 1", lambda logits: logits.roll(1, 1)),
    ):
        yield entry(
            name,
            "row i of the logits is about the token after token i; targets are shifted, not the model's answer.",
            "What does your forward do after its last matrix?",
            "a loss that never falls as far as it should",
            Steps(logits=wrong),
        )
    for name, embed in (
        ("the embeddings are divided by √d_model", lambda table, ids: table[ids] / table.shape[1] ** 0.5),
        ("the embeddings are multiplied by d_model", lambda table, ids: table[ids] * table.shape[1]),
    ):
        why = "GPT takes its embeddings as they are; the paper multiplies them by √d_model."
        yield (
            named(name, why, "By what are your embeddings multiplied?", "words drown the positions, or are drowned"),
            (Steps(embed=embed)),
        )
    for mistake, wrong in known("sinusoidal table"):
        yield mistake, Steps(table=wrong)

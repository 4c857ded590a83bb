"""Known mistakes in the causal mask and in the padding mask."""

import torch
from torch import Tensor

from transformer_edu.checks.components.masks import CAUSAL, PADDING
from transformer_edu.masks import causal_mask, padding_mask

# ------------------------------------------------------------------ causal


@CAUSAL.mistake(
    "the mask is inverted: True marks what is blocked",
    symptom="every token sees only later ones, and the last sees nothing",
    why="here True means *may attend*; torch.nn.MultiheadAttention's masks mean the opposite.",
    hint="Read your first row aloud: may the first token look at itself?",
)
def causal_inverted(size: int) -> Tensor:
    return ~causal_mask(size)


@CAUSAL.mistake(
    "it is the upper triangle: each token sees itself and the future",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="row q is the query, column k the key; the past of q is k ≤ q, to the left of the diagonal.",
    hint="Which triangle holds the columns to the left of the diagonal, the upper one or the lower?",
)
def upper_triangle(size: int) -> Tensor:
    return torch.ones(size, size).triu().bool()


@CAUSAL.mistake(
    "the diagonal is left out: a token cannot see itself",
    symptom="the first token has nothing to look at, which gives NaN or zeros",
    why="position q may attend to 0 .. q, and q is included.",
    hint="Which diagonal does the second argument of tril or triu name, and which one do you need?",
)
def diagonal_left_out(size: int) -> Tensor:
    return torch.ones(size, size).tril(-1).bool()


@CAUSAL.mistake(
    "each token also sees the next one",
    symptom="near-perfect training loss: the next token is exactly the answer",
    why="the triangle reaches one diagonal too far.",
    hint="How many ones should the first row have?",
)
def sees_the_next(size: int) -> Tensor:
    return torch.ones(size, size).tril(1).bool()


@CAUSAL.mistake(
    "nothing is blocked",
    symptom="the loss falls to almost nothing in training; generated text is nonsense",
    why="every entry is True, so each token sees the whole future.",
    hint="Which entries (row q, column k) should be False?",
)
def nothing_blocked(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool)


@CAUSAL.mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, or an attention that adds masks adds 1 and 0",
    why="tril keeps the dtype of what it gets, and torch.ones makes floats.",
    hint="The pattern is right. Which dtype does the contract want, and where can you ask for it?",
)
def causal_in_numbers(size: int) -> Tensor:
    return torch.ones(size, size).tril()


@CAUSAL.mistake(
    "it is an additive mask (0 and -inf), not a boolean one",
    symptom="an attention that expects booleans blocks what it should allow",
    why="two conventions exist: numbers to add to the scores, and booleans that say who may look. This is the first.",
    hint="Which places should be True? Write the condition itself.",
)
def causal_additive(size: int) -> Tensor:
    return torch.zeros(size, size).masked_fill(~causal_mask(size), float("-inf"))


# ------------------------------------------------------------------ padding


@PADDING.mistake(
    "the mask is inverted: True marks the padding",
    symptom="the model attends to padding and to nothing else",
    why="here True means *may attend*; key_padding_mask in torch.nn means the opposite.",
    hint="Read your first row aloud: may anyone look at the first token?",
)
def padding_inverted(ids: Tensor, pad_id: int) -> Tensor:
    return ~padding_mask(ids, pad_id)


@PADDING.mistake(
    "padding is blocked as a query (rows), not as a key (columns)",
    symptom="real tokens still look at padding, and padding tokens get NaN or zeros",
    why="the token dimension stands in the place of q_len; the keys are the last dimension.",
    hint="In (batch, heads, q_len, k_len), which dimension should your tokens lie along, and which have size 1?",
)
def queries_blocked(ids: Tensor, pad_id: int) -> Tensor:
    return (ids != pad_id)[:, None, :, None]


@PADDING.mistake(
    "padding is blocked both as a key and as a query",
    symptom="rows of padding tokens have nothing to look at, which gives NaN where attention does not expect it",
    why="only looking *at* padding must be prevented; what a padding token itself looks at is ignored later.",
    hint="Which rows of your mask are empty? They need not be.",
)
def keys_and_queries_blocked(ids: Tensor, pad_id: int) -> Tensor:
    real = ids != pad_id
    return (real[:, :, None] & real[:, None, :])[:, None]


@PADDING.mistake(
    "the shape is (batch, seq): the batch lands in the place of the queries",
    symptom="a shape error; when the batch has as many sentences as tokens, silent nonsense",
    why="broadcasting lines shapes up from the right, so (batch, seq) is read as (q_len, k_len).",
    hint="Where do the dimensions of heads and queries have to go? Indexing with None adds one of size 1.",
)
def without_new_dimensions(ids: Tensor, pad_id: int) -> Tensor:
    return ids != pad_id


@PADDING.mistake(
    "the shape is (batch, 1, seq): the batch lands in the place of the heads",
    symptom="a shape error; with as many heads as sentences, each head hides another sentence's padding",
    why="broadcasting lines shapes up from the right, so (batch, 1, seq) is read as (heads, 1, k_len).",
    hint="The result should have four dimensions. Which one is missing?",
)
def without_heads(ids: Tensor, pad_id: int) -> Tensor:
    return (ids != pad_id)[:, None, :]


@PADDING.mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along; then real tokens vanish",
    why="the mask is made from `ids != 0` (or from the truth of the ids), and pad_id is not used.",
    hint="Which argument does your function never use?",
)
def pad_id_ignored(ids: Tensor, pad_id: int) -> Tensor:
    return padding_mask(ids, 0)


@PADDING.mistake(
    "ids are compared with `>` rather than `!=`",
    symptom="works while the padding id is 0; with another one, every id below it vanishes",
    why="ids are names, not sizes.",
    hint="When is a token padding? Write exactly this condition.",
)
def compared_by_size(ids: Tensor, pad_id: int) -> Tensor:
    return (ids > pad_id)[:, None, None, :]


@PADDING.mistake(
    "the entries are numbers, 1 and 0, not booleans",
    symptom="`~mask` fails, and `&` with a boolean mask gives integers",
    why="a conversion such as .float() or .long() follows the comparison.",
    hint="The comparison alone already has the dtype that the contract wants.",
)
def padding_in_numbers(ids: Tensor, pad_id: int) -> Tensor:
    return padding_mask(ids, pad_id).float()

"""Checks a reader's own test for leaks from the future."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_edu.attention import scaled_dot_product_attention
from transformer_edu.book.exercises.checks.components.multi_head_split import merge_heads, split_heads
from transformer_edu.book.exercises.checks.engine import Component, Trial, Unfit, as_number, inputs_afterwards
from transformer_edu.masks import causal_mask, padding_mask

VOCAB, D_MODEL = 10, 4
Look = Callable[[Tensor], Tensor]  # ids (batch, seq) -> mask, True = may attend


class Reader(nn.Module):
    """Attention with two heads, without a residual connection: ids (batch, seq) -> logits (batch, seq, vocab).

    All queries are zero, so a position takes the mean of what `look` lets it attend to, and depends on nothing else.
    Logits lie between 1 and 3.
    """

    def __init__(self, look: Look, merge: Callable[[Tensor], Tensor] = merge_heads) -> None:
        super().__init__()
        drawn = torch.randn(VOCAB, D_MODEL, generator=torch.Generator().manual_seed(0))
        self.words = nn.Embedding.from_pretrained(drawn, freeze=False)
        self.look = look
        self.merge = merge

    def forward(self, ids: Tensor) -> Tensor:
        """Attend, put the heads together, compare with every word's vector."""
        heads = split_heads(self.words(ids), 2)
        output, _ = scaled_dot_product_attention(torch.zeros_like(heads), heads, heads, self.look(ids))
        return 2 + torch.tanh(self.merge(output) @ self.words.weight.T)


class Noisy(Reader):
    """Rounding that differs from call to call, as when a GPU adds in another order."""

    def forward(self, ids: Tensor) -> Tensor:
        """The logits, about 1e-7 up or down."""
        logits = super().forward(ids)
        return logits + 4e-7 * (torch.rand_like(logits) - 0.5)


class Dropping(Reader):
    """With dropout, handed over in training mode."""

    def forward(self, ids: Tensor) -> Tensor:
        """Half of the logits are zero in training."""
        return nn.functional.dropout(super().forward(ids), 0.5, self.training)


class Indifferent(Reader):
    """Says the same whatever it reads."""

    def forward(self, ids: Tensor) -> Tensor:
        """Always the logits of word 1."""
        return super().forward(torch.ones_like(ids))


class OpenInEvaluation(Reader):
    """Uses its mask in training only."""

    def forward(self, ids: Tensor) -> Tensor:
        """Causal in training, unmasked in evaluation mode."""
        self.look = causal if self.training else everything
        return super().forward(ids)


class Faint(Reader):
    """Causal but for one part in fifty."""

    def forward(self, ids: Tensor) -> Tensor:
        """A blend of the causal model and the unmasked one."""
        return 0.98 * Reader(causal)(ids) + 0.02 * Reader(everything)(ids)


def causal(ids: Tensor) -> Tensor:
    """Itself and what came before."""
    return causal_mask(ids.shape[1])


def causal_and_padding(ids: Tensor) -> Tensor:
    """Itself and what came before, without padding, id 0."""
    return causal(ids) & padding_mask(ids, 0)


def before(ids: Tensor) -> Tensor:
    """What came before, not itself."""
    return causal(ids).tril(-1)


def everything(ids: Tensor) -> Tensor:
    """All tokens."""
    return torch.ones_like(causal(ids))


def one_too_far(ids: Tensor) -> Tensor:
    """Up to the next token."""
    return everything(ids).tril(1)


def last_as_well(ids: Tensor) -> Tensor:
    """Itself, what came before, and the last token."""
    mask = causal(ids).clone()
    mask[:, -1] = True
    return mask


def only(output: int, token: int) -> Look:
    """A mask with one hole: the output at one place sees one later token; nothing else leaks."""

    def look(ids: Tensor) -> Tensor:
        mask = causal(ids).clone()
        mask[output : output + 1, token : token + 1] = True
        return mask

    return look


def open_beside_padding(ids: Tensor) -> Tensor:
    """In sentences with two paddings (id 0), all tokens; in others itself and what came before."""
    return causal(ids) | ((ids == 0).sum(1) > 1)[:, None, None, None]


def merged_without_transpose(heads: Tensor) -> Tensor:
    """(batch, heads, seq, d_head) viewed as (batch, seq, d_model): pieces of different tokens in one row."""
    return heads.reshape(heads.shape[0], heads.shape[2], -1)


HONEST: dict[str, Callable[[], nn.Module]] = {
    "a causal model": lambda: Reader(causal),
    "a causal model that hides padding (id 0)": lambda: Reader(causal_and_padding),
    "a causal model with rounding noise of 1e-7": lambda: Noisy(causal),
    "a causal model with dropout, still in training mode": lambda: Dropping(causal),
    "a model that reads the tokens before each position, not the one at it": lambda: Reader(before),
    "a model that says the same whatever it reads": lambda: Indifferent(causal),
}
LEAKING: dict[str, Callable[[], nn.Module]] = {
    "a model without a mask": lambda: Reader(everything),
    "a model that also sees the next token": lambda: Reader(one_too_far),
    "a causal model whose heads are merged without the transpose": lambda: Reader(causal, merged_without_transpose),
    "a model in which all see the last token": lambda: Reader(last_as_well),
    "a model that drops its mask in evaluation mode": lambda: OpenInEvaluation(causal),
    "a model with a faint leak, one part in fifty": lambda: Faint(causal),
}
LEAKING |= {
    f"a model whose output {output} sees the token {token}": partial(Reader, only(output, token))
    for output, token in itertools.combinations(range(4), 2)
}


BESIDE_PADDING: dict[str, Callable[[], nn.Module]] = {
    "without a mask in sentences that end with two paddings (id 0)": lambda: Reader(open_beside_padding),
}


def check_future_test(sees_the_future: Callable[..., Any]) -> None:
    """Check sees_the_future(model, ids) -> whether any output of the model depends on a later token.

    model(ids) turns ids (batch, seq) into logits (batch, seq, vocab); it is an nn.Module, ids lie in 0 .. vocab − 1.
    The test has to judge the model as it predicts, in evaluation mode, and to forgive rounding.
    """
    COMPONENT.check(sees_the_future=sees_the_future)


@torch.no_grad()
def sees_the_future(model: nn.Module, ids: Tensor, tolerance: float = 1e-4) -> bool:
    """Change the tokens one place at a time, and see whether an output before that place moves."""
    was_training = model.training
    model.eval()
    before = model(ids)
    largest = 0.0
    for place in range(1, ids.shape[1]):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % before.shape[-1]
        largest = max(largest, float((model(changed) - before)[:, :place].abs().max()))
    model.train(was_training)
    return largest > tolerance


def _verdict(fn: Any, model: nn.Module, ids: Tensor) -> bool:
    """What the candidate says of one model; a tensor or array with one boolean is welcome."""
    result = fn(model, ids.clone())
    if result is None:
        raise Unfit("returned None, expected True or False: is the `return` missing?")
    if isinstance(result, Tensor) and result.numel() == 1:
        return bool(as_number(result))
    if type(result).__name__ not in ("bool", "bool_"):  # the second is NumPy's
        raise Unfit(f"returned a {type(result).__name__}, expected True or False")
    return bool(result)


def _judge(models: dict[str, Callable[[], nn.Module]]) -> Callable[[Any, dict[str, Any]], dict[str, Any]]:
    """What the candidate says of each of these models, every one freshly made."""

    def observe(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
        return {f"{name}: does it see the future": _verdict(fn, make(), given["ids"]) for name, make in models.items()}

    return observe


def _each_alone(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the candidate says of a model without a mask, in each of the sentences by itself."""
    model = LEAKING["a model without a mask"]()
    name = "a model without a mask, in each sentence alone: does it see the future"
    return {name: all(_verdict(fn, model, ids) for ids in given["ids"].split(1))}


def _ids_afterwards(fn: Any, given: dict[str, Any]) -> dict[str, Any]:
    return inputs_afterwards(partial(fn, HONEST["a causal model"]()), given)


SENTENCES = torch.tensor([[5, 8, 3, 9], [7, 2, 0, 0]])
ONE_TOKEN = torch.tensor([[(token + 3) % VOCAB, token, token] for token in range(VOCAB)])
CAUSAL_ONE = {name: make for name, make in HONEST.items() if name == "a causal model"}

COMPONENT = Component(
    "future-leak test",
    chapter=10,
    reference=sees_the_future,
    trials=[
        Trial("six models that do not see the future (a vocabulary of 10)", {"ids": SENTENCES}, _judge(HONEST)),
        Trial("twelve models that do (a vocabulary of 10)", {"ids": SENTENCES}, _judge(LEAKING)),
        Trial("a model that does in one of two sentences", {"ids": SENTENCES}, _judge(BESIDE_PADDING)),
        Trial("one token repeated, each of ten", {"ids": ONE_TOKEN}, _each_alone),
        Trial("a single token, which has no future", {"ids": torch.tensor([[5]])}, _judge(CAUSAL_ONE)),
        Trial("the ids afterwards", {"ids": SENTENCES}, _ids_afterwards),
    ],
)
mistake = COMPONENT.mistake
TOLERANCE = 1e-4


def other(ids: Tensor, place: int | slice) -> Tensor:
    """A copy with another token at this place (of 10)."""
    changed = ids.clone()
    changed[:, place] = (changed[:, place] + 1) % 10
    return changed


def moved(a: Tensor, b: Tensor) -> bool:
    """Whether two parts of the output differ by more than rounding; nothing never differs."""
    return not torch.allclose(a, b, rtol=0, atol=TOLERANCE)


def one_change(
    place: int | slice, part: Callable[[Tensor], Tensor], other: Callable[[Tensor, Any], Tensor] = other
) -> Callable[[nn.Module, Tensor], bool]:
    """A test that changes the tokens at one place, and compares one part of the logits."""
    return lambda model, ids: moved(part(model.eval()(ids)), part(model(other(ids, place))))


def every_change(
    model: nn.Module,
    ids: Tensor,
    differ: Callable[[Tensor, Tensor], bool],
    other: Callable[[Tensor, int], Tensor] = other,
) -> bool:
    """Whether a change at any place makes the logits before it differ."""
    before = model(ids)
    return any(differ(before[:, :t], model(other(ids, t))[:, :t]) for t in range(1, ids.shape[1]))


def always_zero(ids: Tensor, place: int) -> Tensor:
    """A copy with token 0 at this place."""
    changed = ids.clone()
    changed[:, place] = 0
    return changed


mistake(
    "the answer is always False",
    symptom="a test that is green whatever the model does",
    why="no path through the function returns True, or what is compared can never differ.",
    hint="Hand it a model without a mask. Where should True come from?",
)(lambda model, ids: False)
mistake(
    "the answer is always True",
    symptom="a test that is red whatever the model does, and is soon switched off",
    why="no path through the function returns False, or what is compared always differs.",
    hint="Hand it a model that ignores its input. Where should False come from?",
)(lambda model, ids: True)
mistake(
    "the answer is the wrong way round: True when the outputs stay the same",
    symptom="green for models that leak, red for those that do not",
    why="torch.allclose says that nothing has moved; the question is whether something has.",
    hint="What does your comparison return for two equal tensors, and what should the test return then?",
)(lambda model, ids: not sees_the_future(model, ids))
mistake(
    "outputs after the changed token are compared too, for example after changing the first token",
    symptom="a false alarm for every model that reads anything at all",
    why="later outputs depend on earlier tokens: that is what they are for.",
    hint="You change the token at place t. Which outputs must not move?",
)(one_change(0, lambda logits: logits[:, 1:]))
mistake(
    "only the last output is compared, and it may depend on every token",
    symptom="a false alarm for every model that reads anything at all; leaks into earlier outputs are not looked for",
    why="logits[:, -1] has nothing but past: no token comes after it.",
    hint="Which outputs have a future at all?",
)(one_change(0, lambda logits: logits[:, -1]))
mistake(
    "the output at the changed token itself is compared too",
    symptom="a false alarm for every model that reads its own token",
    why="position t reads the tokens 0 .. t, and t is included: its output may move.",
    hint="You change the token at place t. What does the slice [:, :t + 1], or no slice at all, let through?",
)(one_change(-1, lambda logits: logits))
mistake(
    "the outputs are compared exactly",
    symptom="a false alarm now and then, on one machine and not on another",
    why="the same sum in another order differs in the last digit; about 1e-7 in float32.",
    hint="How large a difference is rounding, and which function of torch allows for it?",
)(lambda model, ids: every_change(model.eval(), ids, lambda before, after: not torch.equal(before, after)))
mistake(
    "the model stays in training mode",
    symptom="dropout looks like a leak, and a model that drops its mask when it predicts passes",
    why="two passes in training mode differ by chance, and evaluation mode is never tried.",
    hint="In which mode will the model predict? Which method puts it there?",
)(lambda model, ids: every_change(model, ids, moved))


@mistake(
    "the ids are changed in place, and the model is compared with itself",
    symptom="a test that is green whatever the model does",
    why="`changed = ids` gives the same tensor a second name: both passes read the changed ids.",
    hint="Print both inputs before the two passes. What makes a copy of a tensor?",
)
def compares_with_itself(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    changed = ids
    changed[:, -1] = (changed[:, -1] + 1) % 10
    return moved(model(ids)[:, :-1], model(changed)[:, :-1])


@mistake(
    "the caller's ids are changed",
    symptom="the verdict is right, but whatever uses the ids next works with another sentence",
    why="the new token is written into the tensor that was handed over.",
    hint="What makes a copy of a tensor?",
)
def changes_the_ids(model: nn.Module, ids: Tensor) -> bool:
    verdict = sees_the_future(model, ids)
    ids[:, -1] = (ids[:, -1] + 1) % 10
    return verdict


mistake(
    "only the last token is changed",
    symptom="leaks from the last token are found, leaks from any other are not",
    why="a position may see one later token and not the last one.",
    hint="Which tokens are the future of the first position? Try each of them.",
)(one_change(-1, lambda logits: logits[:, :-1]))
mistake(
    "only the second token is changed, and only the first output compared",
    symptom="leaks from the next token are found, leaks from further away are not",
    why="one place is tried; the outputs and the tokens after it are not.",
    hint="You change the token at place t. Which values of t does a sentence of four tokens need?",
)(one_change(slice(1, 2), lambda logits: logits[:, :1]))
mistake(
    "only the first output is compared",
    symptom="a leak into the first output is found, leaks into any other are not",
    why="a mask can be right in its first row and wrong in the others.",
    hint="You change the token at place t. How many outputs stand before it, and how many do you compare?",
)(lambda model, ids: every_change(model.eval(), ids, lambda before, after: moved(before[:, :1], after[:, :1])))
mistake(
    "only the output right before the changed token is compared",
    symptom="leaks from the next token are found, leaks from further away are not",
    why="a mask can hide the next token and show a later one.",
    hint="You change the token at place t. How many outputs stand before it, and how many do you compare?",
)(lambda model, ids: every_change(model.eval(), ids, lambda before, after: moved(before[:, -1:], after[:, -1:])))
mistake(
    "every token is replaced by the same one, which it may be already",
    symptom="green for any model where the sentence holds that token: nothing was changed",
    why="the new token is a fixed number (0, padding, or 1).",
    hint="Which new token is another one, whatever stood there?",
)(lambda model, ids: every_change(model.eval(), ids, moved, always_zero))
mistake(
    "only the first sentence of the batch is compared",
    symptom="leaks that show in other sentences are not found, as where padding replaces the causal mask",
    why="logits[0] is one sentence; the mask of another may be another one.",
    hint="logits is (batch, seq, vocab). Which of its dimensions may you cut?",
)(lambda model, ids: every_change(model.eval(), ids, lambda before, after: moved(before[:1], after[:1])))
mistake(
    "the comparison is too coarse: the likeliest words, or a large tolerance",
    symptom="a faint leak passes, and training finds it",
    why="logits can move without changing their order, and by less than a tenth.",
    hint="Rounding is about 1e-7. How far above it does your comparison begin?",
)(partial(sees_the_future, tolerance=0.1))
mistake(
    "the new token is outside the vocabulary",
    symptom="`index out of range in self`, from the embedding",
    why="ids + 1, or a fixed number, can be larger than the last id.",
    hint="How many words does the model know? Its output says so. What does % do?",
)(one_change(-1, lambda logits: logits[:, :-1], other=lambda ids, place: ids + 10))


@mistake(
    "a single token is not provided for: there is no earlier output to compare",
    symptom="an error for sentences of one token: the largest of no numbers does not exist",
    why="before the only token there is nothing, and max() of an empty tensor fails.",
    hint="What should the answer be for one token? Does your loop run at all then?",
)
def fails_on_a_single_token(model: nn.Module, ids: Tensor) -> bool:
    verdict = sees_the_future(model, ids)
    return verdict or float((model(ids) - model(other(ids, -1)))[:, :-1].abs().max()) < 0

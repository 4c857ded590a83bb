"""Known mistakes in tests for leaks from the future: each is such a test, and each misjudges some model."""

import torch
from torch import Tensor, nn

from transformer_edu.checks.components.leak_check import FUTURE_TEST, sees_the_future

mistake = FUTURE_TEST.mistake
TOLERANCE = 1e-4


def other(ids: Tensor, place: int | slice) -> Tensor:
    """A copy with another token at this place (of 10)."""
    changed = ids.clone()
    changed[:, place] = (changed[:, place] + 1) % 10
    return changed


def moved(a: Tensor, b: Tensor) -> bool:
    """Whether two parts of the output differ by more than rounding; nothing never differs."""
    return not torch.allclose(a, b, rtol=0, atol=TOLERANCE)


@mistake(
    "the answer is always False",
    symptom="a test that is green whatever the model does",
    why="no path through the function returns True, or what is compared can never differ.",
    hint="Hand it a model without a mask. Where should True come from?",
)
def never(model: nn.Module, ids: Tensor) -> bool:
    return False


@mistake(
    "the answer is always True",
    symptom="a test that is red whatever the model does, and is soon switched off",
    why="no path through the function returns False, or what is compared always differs.",
    hint="Hand it a model that ignores its input. Where should False come from?",
)
def always(model: nn.Module, ids: Tensor) -> bool:
    return True


@mistake(
    "the answer is the wrong way round: True when the outputs stay the same",
    symptom="green for models that leak, red for those that do not",
    why="torch.allclose says that nothing has moved; the question is whether something has.",
    hint="What does your comparison return for two equal tensors, and what should the test return then?",
)
def inverted(model: nn.Module, ids: Tensor) -> bool:
    return not sees_the_future(model, ids)


@mistake(
    "outputs after the changed token are compared too, for example after changing the first token",
    symptom="a false alarm for every model that reads anything at all",
    why="later outputs depend on earlier tokens: that is what they are for.",
    hint="You change the token at place t. Which outputs must not move?",
)
def compares_later_outputs(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids)[:, 1:], model(other(ids, 0))[:, 1:])


@mistake(
    "only the last output is compared, and it may depend on every token",
    symptom="a false alarm for every model that reads anything at all; leaks into earlier outputs are not looked for",
    why="logits[:, -1] has nothing but past: no token comes after it.",
    hint="Which outputs have a future at all?",
)
def compares_the_last_output(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids)[:, -1], model(other(ids, 0))[:, -1])


@mistake(
    "the output at the changed token itself is compared too",
    symptom="a false alarm for every model that reads its own token",
    why="position t reads the tokens 0 .. t, and t is included: its output may move.",
    hint="You change the token at place t. What does the slice [:, :t + 1], or no slice at all, let through?",
)
def compares_the_changed_place(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids), model(other(ids, -1)))


@mistake(
    "the outputs are compared exactly",
    symptom="a false alarm now and then, on one machine and not on another",
    why="the same sum in another order differs in the last digit; about 1e-7 in float32.",
    hint="How large a difference is rounding, and which function of torch allows for it?",
)
def compares_exactly(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    before = model(ids)
    return any(not torch.equal(before[:, :t], model(other(ids, t))[:, :t]) for t in range(1, ids.shape[1]))


@mistake(
    "the model stays in training mode",
    symptom="dropout looks like a leak, and a model that drops its mask when it predicts passes",
    why="two passes in training mode differ by chance, and evaluation mode is never tried.",
    hint="In which mode will the model predict? Which method puts it there?",
)
def stays_in_training_mode(model: nn.Module, ids: Tensor) -> bool:
    before = model(ids)
    return any(moved(before[:, :t], model(other(ids, t))[:, :t]) for t in range(1, ids.shape[1]))


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


@mistake(
    "only the last token is changed",
    symptom="leaks from the last token are found, leaks from any other are not",
    why="a position may see one later token and not the last one.",
    hint="Which tokens are the future of the first position? Try each of them.",
)
def changes_the_last_token_only(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids)[:, :-1], model(other(ids, -1))[:, :-1])


@mistake(
    "only the second token is changed, and only the first output compared",
    symptom="leaks from the next token are found, leaks from further away are not",
    why="one place is tried; the outputs and the tokens after it are not.",
    hint="You change the token at place t. Which values of t does a sentence of four tokens need?",
)
def tries_one_place_only(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids)[:, :1], model(other(ids, slice(1, 2)))[:, :1])


@mistake(
    "the comparison is too coarse: the likeliest words, or a large tolerance",
    symptom="a faint leak passes, and training finds it",
    why="logits can move without changing their order, and by less than a tenth.",
    hint="Rounding is about 1e-7. How far above it does your comparison begin?",
)
def compares_coarsely(model: nn.Module, ids: Tensor) -> bool:
    return sees_the_future(model, ids, tolerance=0.1)


@mistake(
    "the new token is outside the vocabulary",
    symptom="`index out of range in self`, from the embedding",
    why="ids + 1, or a fixed number, can be larger than the last id.",
    hint="How many words does the model know? Its output says so. What does % do?",
)
def leaves_the_vocabulary(model: nn.Module, ids: Tensor) -> bool:
    model.eval()
    return moved(model(ids)[:, :-1], model(ids + 10)[:, :-1])


@mistake(
    "a single token is not provided for: there is no earlier output to compare",
    symptom="an error for sentences of one token: the largest of no numbers does not exist",
    why="before the only token there is nothing, and max() of an empty tensor fails.",
    hint="What should the answer be for one token? Does your loop run at all then?",
)
def fails_on_a_single_token(model: nn.Module, ids: Tensor) -> bool:
    verdict = sees_the_future(model, ids)
    return verdict or float((model(ids) - model(other(ids, -1)))[:, :-1].abs().max()) < 0

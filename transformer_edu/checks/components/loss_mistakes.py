"""Known mistakes in cross-entropy with label smoothing."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu.checks.components.label_smoothing import LOSS

mistake = LOSS.mistake


def terms(log_probs: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """(1 − ε) · (−log p[target]) + ε · mean of all −log p, for each token (batch, seq), right."""
    of_target = log_probs.gather(-1, target[..., None])[..., 0]
    return -(1 - smoothing) * of_target - smoothing * log_probs.mean(-1)


def mean_over_words(losses: Tensor, target: Tensor, pad_id: int) -> Tensor:
    """The mean over the tokens that are not padding, right."""
    return losses[target != pad_id].mean()


@mistake(
    "padding counts: its loss is not left out",
    symptom="the loss depends on the amount of padding, and the model learns to say <pad>",
    why="the mean goes over all positions.",
    hint="At which places does the target hold nothing to be learned?",
)
def padding_counts(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return terms(logits.log_softmax(-1), target, smoothing).mean()


@mistake(
    "padding is left out of the sum, but counted in the divisor",
    symptom="a loss that looks better the more padding a batch has",
    why="the sum over the real tokens is divided by the number of all positions.",
    hint="How many terms does your sum have? By how many do you divide?",
)
def divided_by_all(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    losses = terms(logits.log_softmax(-1), target, smoothing)
    return (losses * (target != pad_id)).sum() / target.numel()


@mistake(
    "the losses are added up, not averaged",
    symptom="a loss, and gradients, that grow with the batch",
    why="the sum lacks its division by the number of real tokens.",
    hint="Two equal tokens should have the loss of one.",
)
def summed(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return terms(logits.log_softmax(-1), target, smoothing)[target != pad_id].sum()


@mistake(
    "it is the mean of the sentences' means",
    symptom="words of short sentences weigh more than words of long ones",
    why="the mean is taken within each sentence first.",
    hint="How much does each word of the longer sentence count in your loss, and of the shorter one?",
)
def mean_of_means(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    losses, real = terms(logits.log_softmax(-1), target, smoothing), target != pad_id
    return ((losses * real).sum(1) / real.sum(1)).mean()


@mistake(
    "the smoothing is ignored",
    symptom="plain cross-entropy, whatever `smoothing` is",
    why="the argument never reaches the formula.",
    hint="Which argument does your function never use?",
)
def smoothing_ignored(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits.log_softmax(-1), target, 0.0), target, pad_id)


@mistake(
    "the smoothing mass is spread over the other V - 1 words, not over all V",
    symptom="a slightly higher loss than torch's for the same model: two conventions, not to be mixed",
    why="here, as in torch.nn.functional.cross_entropy, the wanted word gets its share of ε / V as well.",
    hint="What probability does the wanted word have in your softened target: 1 - ε, or a little more?",
)
def spread_over_others(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    vocab = logits.shape[-1]
    return mean_over_words(terms(logits.log_softmax(-1), target, smoothing * vocab / (vocab - 1)), target, pad_id)


@mistake(
    "the padding word gets no share of the smoothing mass",
    symptom="a slightly different loss from torch's for the same model: another convention",
    why="here, as in torch.nn.functional.cross_entropy, the mass is spread over the whole vocabulary.",
    hint="Which columns of the logits does your mean go over?",
)
def padding_word_left_out(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_probs = logits.log_softmax(-1)
    others = log_probs[..., torch.arange(logits.shape[-1]) != pad_id].mean(-1)
    losses = terms(log_probs, target, 0.0) * (1 - smoothing) - smoothing * others
    return mean_over_words(losses, target, pad_id)


@mistake(
    "the smoothing mass is spread over the words other than the wanted one and the padding (V - 2)",
    symptom="a slightly different loss from torch's for the same model: another widely copied convention",
    why="here, as in torch.nn.functional.cross_entropy, the mass is spread over the whole vocabulary.",
    hint="Over how many words is ε spread in your version? Here it is all V.",
)
def spread_over_v_minus_2(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_probs, words = logits.log_softmax(-1), torch.arange(logits.shape[-1])
    share = torch.where((words == pad_id) | (words == target[..., None]), 0.0, smoothing / (logits.shape[-1] - 2))
    wanted = (1 - smoothing) * terms(log_probs, target, 0.0)
    return mean_over_words(wanted - (share * log_probs).nan_to_num().sum(-1), target, pad_id)


@mistake(
    "the shares are exchanged: ε for the wanted word, 1 - ε for all",
    symptom="a loss near log(vocabulary size) that no training lowers",
    why="the factors ε and 1 - ε stand at each other's term.",
    hint="With ε = 0, which term must remain?",
)
def shares_exchanged(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits.log_softmax(-1), target, 1 - smoothing), target, pad_id)


@mistake(
    "the smoothing term is added on top: the wanted word keeps its full weight",
    symptom="a loss that is too high by ε times the cross-entropy: the softened target sums to 1 + ε",
    why="what the other words get must be taken from the wanted one.",
    hint="Add up your softened target over the vocabulary. Is it 1?",
)
def added_on_top(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    log_probs = logits.log_softmax(-1)
    return mean_over_words(terms(log_probs, target, 0.0) - smoothing * log_probs.mean(-1), target, pad_id)


@mistake(
    "the logarithm of a probability that has become 0: the loss is infinite",
    symptom="inf or NaN as soon as the model is very sure",
    why="softmax first and log afterwards: softmax rounds small probabilities to 0, and log(0) is -inf.",
    hint="Is there a function that computes the logarithm of the softmax in one go?",
)
def log_of_zero(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits.softmax(-1).log(), target, smoothing), target, pad_id)


@mistake(
    "softmax is applied twice: cross_entropy is given probabilities",
    symptom="the loss stays near log(vocabulary size) and learns slowly",
    why="torch's cross_entropy takes logits and applies log-softmax itself.",
    hint="What does torch's cross_entropy say about its input?",
)
def softmax_twice(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits.softmax(-1).log_softmax(-1), target, smoothing), target, pad_id)


@mistake(
    "there is no logarithm: minus the probability is taken",
    symptom="a 'loss' between -1 and 0",
    why="nll_loss, or a gather of your own, expects log-probabilities; it got probabilities.",
    hint="Cross-entropy is minus the ... of the probability of the wanted word.",
)
def without_logarithm(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits.softmax(-1), target, smoothing), target, pad_id)


@mistake(
    "there is no softmax: the raw score of the wanted word is used",
    symptom="a 'loss' without a lower bound: it falls for ever while the model learns nothing",
    why="logits are not log-probabilities until they are normalized.",
    hint="What turns logits into log-probabilities?",
)
def without_softmax(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return mean_over_words(terms(logits, target, smoothing), target, pad_id)


@mistake(
    "the sign is lost: the loss is negative",
    symptom="training makes the model worse",
    why="log-probabilities are negative; the loss is minus their mean.",
    hint="Is your loss 0 for a perfect model, and positive for every other?",
)
def sign_lost(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return -mean_over_words(terms(logits.log_softmax(-1), target, smoothing), target, pad_id)


@mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along",
    why="the mask compares with 0, and pad_id is not used.",
    hint="Which argument does your function never use?",
)
def pad_id_ignored(logits: Tensor, target: Tensor, pad_id: int, smoothing: float) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=smoothing)

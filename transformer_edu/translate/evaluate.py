"""How good is the model on the validation text? Its loss per token, and the BLEU of what it writes."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu import fast
from transformer_edu.data.batching import make_batch
from transformer_edu.data.token_budget import token_budget_batches
from transformer_edu.data.vocabulary import IdPair
from transformer_edu.decoding.greedy import EXTRA
from transformer_edu.runs.steps import autocast
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.training.evaluate import greedy_ids
from transformer_edu.training.loss import SummedLoss
from transformer_edu.translate.settings import TrainingSettings


@torch.no_grad()
def summed_loss(model: Any, pairs: Sequence[IdPair], settings: TrainingSettings, device: torch.device) -> torch.Tensor:
    """The loss without smoothing, in nats, summed over all target tokens."""
    total = torch.zeros((), dtype=torch.float64, device=device)
    lengths = [(len(source), len(target) + 1) for source, target in pairs]
    limit = max(settings.max_tokens, *(max(length) for length in lengths)) if lengths else settings.max_tokens
    loss = fast.switch_on(SummedLoss(model, smoothing=0.0))
    with evaluation_mode(model), autocast(settings, device):
        by_length = sorted(range(len(pairs)), key=lambda index: lengths[index])
        for indices in token_budget_batches(lengths, limit, by_length):
            batch = make_batch([pairs[index] for index in indices]).to(device)
            total += loss(batch.source, batch.target_in, batch.target_out)
    return total


def greedy_answers(
    model: Any, sources: Sequence[Sequence[int]], settings: TrainingSettings, device: torch.device
) -> list[list[int]]:
    """Greedy answers in the order of `sources`; sentences of like length are decoded together."""
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    longest = min(max((len(source) for source in sources), default=0) + EXTRA, model.config.max_len)
    with autocast(settings, device):
        answers = greedy_ids(model, [sources[index] for index in order], max_len=longest, batch_size=128)
    placed = dict(zip(order, answers, strict=True))
    return [placed[index] for index in range(len(sources))]

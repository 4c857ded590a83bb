"""How good is the model on the validation text? Its loss per token, and the BLEU of what it writes."""

from collections.abc import Sequence
from typing import Any

import torch

from transformer_edu import fast
from transformer_edu.data.batching import make_batch
from transformer_edu.data.token_budget import token_budget_batches
from transformer_edu.data.vocabulary import IdPair
from transformer_edu.decoding.greedy import EXTRA
from transformer_edu.runs.distributed import Processes
from transformer_edu.runs.steps import autocast
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.training.evaluate import greedy_ids, lowercase_bleu
from transformer_edu.training.loss import SummedLoss
from transformer_edu.transformer import Transformer
from transformer_edu.translate.settings import TrainingSettings
from transformer_edu.translate.task import Task


def evaluate(model: Transformer, task: Task, settings: TrainingSettings, processes: Processes) -> dict[str, Any]:
    """The unsmoothed loss in nats per target token, and lowercase BLEU of greedy answers; shared by all processes."""
    mine = processes.share(task.valid)
    loss = processes.sum(summed_loss(model, mine, settings, processes.device)).item()
    tokens = sum(len(target) + 1 for _, target in task.valid)
    answers = processes.gather(greedy_answers(model, [source for source, _ in mine], settings, processes.device))
    bleu = lowercase_bleu([task.tokenizer.decode(ids) for ids in answers], task.references)
    return {"validation_loss": round(loss / tokens, 6), "validation_bleu": round(bleu, 4)}


@torch.no_grad()
def summed_loss(
    model: Transformer, pairs: Sequence[IdPair], settings: TrainingSettings, device: torch.device
) -> torch.Tensor:
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
    model: Transformer, sources: Sequence[Sequence[int]], settings: TrainingSettings, device: torch.device
) -> list[list[int]]:
    """Greedy answers in the order of `sources`; sentences of like length are decoded together."""
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    longest = min(max((len(source) for source in sources), default=0) + EXTRA, model.config.max_len)
    with autocast(settings, device):
        answers = greedy_ids(model, [sources[index] for index in order], max_len=longest, batch_size=128)
    placed = dict(zip(order, answers, strict=True))
    return [placed[index] for index in range(len(sources))]

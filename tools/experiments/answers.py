"""A story model learns to answer: by examples, with few of its weights, by a reward, by preferences (chapter 21)."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_edu.book.experiments import answers, experiment
from transformer_edu.language.model import LanguageModel
from transformer_edu.pretrained import load_stories

GROUP = 8  # answers to one request


def copied(model: LanguageModel) -> LanguageModel:
    """A model of its own, to go on from."""
    return LanguageModel(copy.deepcopy(model.model).requires_grad_(True), model.tokenizer)


def log_probs(model: LanguageModel, ids: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """log p of the answers' tokens, and which are counted."""
    return answers.answer_log_probs(model.model, ids, starts, model.tokenizer.pad_id)


def measure(model: LanguageModel, reference: LanguageModel, seed: int, requests: int) -> dict[str, Any]:
    """How often words that were asked for are named, and how far the answers are from the reference's, in nats each."""
    asked = answers.draw_words(requests, 1000)
    written = answers.write_answers(model, asked, seed)
    ids, starts = answers.as_rows(model.tokenizer, list(zip(asked, written, strict=True)))
    with torch.no_grad():
        away = log_probs(model, ids, starts)[0].sum() - log_probs(reference, ids, starts)[0].sum()
    whole = [answers.named(words, text) == 1 for words, text in zip(asked, written, strict=True)]
    said = sum(answers.times(words[0], text) for words, text in zip(asked[:requests], written[:requests], strict=True))
    return {
        "one": sum(whole[:requests]) / requests,
        "two": sum(whole[requests:]) / requests,
        "ended": sum(len(model.tokenizer.encode(text)) < answers.STEPS for text in written) / len(written),
        "said": round(said / requests, 2),
        "away": round(away.item() / len(written), 2),
        "written": [written[0], written[1], written[requests]],
    }


def draw_group(model: LanguageModel, asked: Sequence[list[str]], seed: int) -> tuple[list[answers.Example], Tensor]:
    """Eight answers to each request, and their rewards (requests, 8)."""
    each = [words for words in asked for _ in range(GROUP)]
    examples = list(zip(each, answers.write_answers(model, each, seed), strict=True))
    return examples, torch.tensor([answers.named(*one) for one in examples]).view(-1, GROUP)


def reward(
    model: LanguageModel, reference: LanguageModel, beta: float, steps: int, rate: float, seed: int
) -> list[Any]:
    """Answers better than their group's mean become likelier; β holds the model near the reference. Rows of a step."""
    learned, history = [one for one in model.model.parameters() if one.requires_grad], []
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=0.0)
    for step in range(steps):
        examples, rewards = draw_group(model, answers.draw_words(4, 10_000 * seed + step), 10_000 * seed + step)
        better = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        ids, starts = answers.as_rows(model.tokenizer, examples)
        log_p, counted = log_probs(model, ids, starts)
        with torch.no_grad():
            known = log_probs(reference, ids, starts)[0]
        away = (known - log_p).exp() - (known - log_p) - 1  # never below zero; its mean is the distance
        loss = beta * away - better.flatten()[:, None] * log_p
        answers.take_step(optimizer, (loss * counted).sum() / counted.sum())
        history.append([round(rewards.mean().item(), 3), round((log_p - known).sum().item() / len(ids), 2)])
    return history


def prefer(
    model: LanguageModel, reference: LanguageModel, pairs: Sequence[Any], beta: float, rate: float, seed: int
) -> None:
    """Of two answers to a request the better becomes likelier than the worse, against the reference (DPO), 8 a step."""
    optimizer = torch.optim.AdamW(model.model.parameters(), lr=rate, weight_decay=0.0)
    for start in range(0, len(pairs) - 7, 8):
        both = [pair[side] for side in (0, 1) for pair in pairs[start : start + 8]]
        ids, starts = answers.as_rows(model.tokenizer, both)
        with torch.no_grad():
            known = log_probs(reference, ids, starts)[0].sum(1)
        better, worse = (log_probs(model, ids, starts)[0].sum(1) - known).chunk(2)
        answers.take_step(optimizer, -F.logsigmoid(beta * (better - worse)).mean())


@experiment("answers")
def record_answers(
    seeds: Sequence[int] = (0, 1, 2),
    stories: int = 2048,
    tuning: int = 150,
    steps: int = 40,
    betas: Sequence[float] = (0.0, 0.1, 0.3),
    requests: int = 100,
) -> dict[str, Any]:
    """What each way makes of the story model."""
    runs = []
    for seed in seeds:
        base = load_stories()
        examples = answers.own_stories(base, stories, 100_000 * seed)
        tuned, low = copied(base), copied(base)
        answers.tune(tuned.model, base.tokenizer, examples, tuning, 3e-4, seed)
        torch.manual_seed(seed)  # A is drawn
        answers.adapt(low.model, 4)
        answers.tune(low.model, base.tokenizer, examples, tuning, 3e-3, seed)
        run: dict[str, Any] = {"seed": seed, "examples": len(examples)}
        for name, model in {"as it is": base, "tuned": tuned, "low rank": low}.items():
            run[name] = measure(model, base, seed, requests)
        run["rewarded"] = []
        for beta in betas:
            rewarded = copied(tuned)
            history = reward(rewarded, tuned, beta, steps, 1e-4, seed)
            run["rewarded"].append({"beta": beta, "history": history} | measure(rewarded, tuned, seed, requests))
        drawn, rewards = draw_group(tuned, answers.draw_words(4 * steps, seed + 1), seed)
        ordered = rewards.sort(dim=1).indices
        pairs = [
            (drawn[GROUP * i + int(order[-1])], drawn[GROUP * i + int(order[0])])
            for i, order in enumerate(ordered)
            if rewards[i].max() > rewards[i].min()
        ]
        preferred = copied(tuned)
        prefer(preferred, tuned, pairs, 0.1, 1e-4, seed)
        run["preferred"] = {"pairs": len(pairs)} | measure(preferred, tuned, seed, requests)
        best = (rewards.max(1).values == 1).double()
        run["best of 8"] = {name: half.mean().item() for name, half in zip(("one", "two"), best.chunk(2), strict=True)}
        runs.append(run)
    return {"runs": runs}

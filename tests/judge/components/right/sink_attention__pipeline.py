"""kind: sink_attention
name: attention_with_sinks
style: engineered"""
from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Optional

import torch
from torch import Tensor


class Scorer(abc.ABC):
    @abc.abstractmethod
    def score(self, q: Tensor, k: Tensor) -> Tensor: ...


class ScaledDotProductScorer(Scorer):
    def score(self, q: Tensor, k: Tensor) -> Tensor:
        return (q * q.shape[-1] ** -0.5) @ k.mT


class Masker:
    def apply(self, scores: Tensor, mask: Optional[Tensor]) -> Tensor:
        if mask is None:
            return scores
        if mask.dtype is not torch.bool:
            return scores + mask
        return scores.masked_fill(mask.logical_not(), float("-inf"))


class Normalizer(abc.ABC):
    @abc.abstractmethod
    def normalize(self, scores: Tensor) -> Tensor: ...


@dataclass
class SinkNormalizer(Normalizer):
    """softmax([scores, sink]) without the last column, in terms of logsumexp."""

    sinks: Tensor

    def normalize(self, scores: Tensor) -> Tensor:
        sink = self.sinks.to(scores.dtype).reshape(-1, 1, 1)
        log_z = torch.logaddexp(scores.logsumexp(-1, keepdim=True), sink)
        return (scores - log_z).exp()


@dataclass
class AttentionPipeline:
    normalizer: Normalizer
    scorer: Scorer = field(default_factory=ScaledDotProductScorer)
    masker: Masker = field(default_factory=Masker)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor]) -> Tensor:
        scores = self.masker.apply(self.scorer.score(q, k), mask)
        return self.normalizer.normalize(scores) @ v


def attention_with_sinks(query: Tensor, key: Tensor, value: Tensor, sinks: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    return AttentionPipeline(SinkNormalizer(sinks))(query, key, value, mask)

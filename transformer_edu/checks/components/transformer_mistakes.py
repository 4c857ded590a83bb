"""Known mistakes in what an encoder–decoder lets through: masks, memory, positions, logits."""

import torch
from torch import Tensor, nn

from transformer_edu.attention import MultiHeadAttention
from transformer_edu.checks.components.transformer_variant import Model, mistake
from transformer_edu.embedding import ProjectionLayer
from transformer_edu.masks import causal_mask, padding_mask
from transformer_edu.support.cache import DecoderCache
from transformer_edu.transformer import TransformerConfig


@mistake(
    "softmax is already applied to what the model returns",
    symptom="cross_entropy applies softmax a second time: the loss stays near log(vocabulary size) and learns slowly",
    why="the projection should return logits; the loss takes log-softmax itself.",
    hint="What does torch's cross_entropy say about its input: probabilities or logits?",
)
class Probabilities(Model):
    def project(self, x: Tensor) -> Tensor:
        return torch.softmax(super().project(x), dim=-1)


@mistake(
    "log-softmax is already applied to what the model returns",
    symptom="none in the loss (log-softmax twice changes nothing), but the numbers are no logits",
    why="the projection should return logits; temperature, label smoothing and tying are defined on these.",
    hint="Which function takes log-probabilities, and which takes logits: nll_loss or cross_entropy?",
)
class LogProbabilities(Model):
    def project(self, x: Tensor) -> Tensor:
        return torch.log_softmax(super().project(x), dim=-1)


@mistake(
    "the projection has as many scores as the *source* vocabulary has words",
    symptom="a wrong shape of logits; with one shared vocabulary it goes unnoticed",
    why="the model predicts target words.",
    hint="Which of the two sizes does the last layer need?",
)
class ProjectsToSource(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        if config.tie_embeddings == "none":
            self.projection = ProjectionLayer(config.d_model, config.source_vocab_size)


@mistake(
    "the decoder sees the future: its causal mask is missing, or overwritten by the padding mask",
    symptom="a training loss near zero after a few hundred steps, and nonsense when it has to write on its own",
    why="self-attention in the decoder gets the padding mask alone.",
    hint="Print the mask that reaches the decoder's self-attention. Is its upper right empty?",
)
class SeesFuture(Model):
    def target_mask(self, target: Tensor, offset: int = 0) -> Tensor:
        return padding_mask(target, self.config.pad_id)


@mistake(
    "the decoder sees the future in eval mode: the causal mask depends on model.training",
    symptom="a validation loss far below the training loss",
    why="the mask is built only `if self.training`; but evaluation, too, shows the model whole targets.",
    hint="Nothing but dropout should depend on the mode. Where does your code ask for it?",
)
class SeesFutureInEval(SeesFuture):
    def target_mask(self, target: Tensor, offset: int = 0) -> Tensor:
        padding = super().target_mask(target)
        return padding & causal_mask(target.shape[1]) if self.training else padding


@mistake(
    "the heads are merged without the transpose, so positions mix",
    symptom="right with one head; with several, early outputs depend on later tokens, although the masks are right",
    why="(batch, heads, seq, d_head) is viewed as (batch, seq, d_model): the numbers stay in the order of heads.",
    hint="Which dimension must stand beside d_head before the two can become d_model?",
)
class MergedWithoutTranspose(Model):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.merge_heads = lambda x: x.reshape(x.shape[0], x.shape[2], -1)  # type: ignore[method-assign]


@mistake(
    "the decoder's self-attention does not hide padding: the causal mask has overwritten the padding mask",
    symptom="results that change with the padding whenever it stands before or between real tokens",
    why="two conditions must hold at once: not in the future, and not padding.",
    hint="How do you join two boolean masks so that both must agree?",
)
class SeesTargetPadding(Model):
    def target_mask(self, target: Tensor, offset: int = 0) -> Tensor:
        return causal_mask(target.shape[1])


@mistake(
    "the encoder attends to padding",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the encoder's self-attention gets no padding mask; cross-attention does.",
    hint="Three attentions need to know about padding. Which of them gets the source's mask?",
)
class EncoderSeesPadding(Model):
    def source_mask(self, source: Tensor) -> Tensor | None:
        return None


@mistake(
    "cross-attention looks at the source's padding",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the decoder's cross-attention gets no mask; its keys are the source's tokens, so it needs the source's mask.",
    hint="Three attentions need to know about padding. Which of them gets the source's mask?",
)
class CrossAttentionSeesPadding(Model):
    def memory_mask(self, source: Tensor) -> Tensor | None:
        return None


@mistake(
    "the source's padding is hidden nowhere, neither in the encoder nor in cross-attention",
    symptom="a sentence's translation changes with the length of the others in its batch",
    why="the source's padding mask is never made, or never handed on.",
    hint="Which two attentions have the source's tokens as keys?",
)
class SourcePaddingSeen(EncoderSeesPadding, CrossAttentionSeesPadding):
    pass


@mistake(
    "the padding id is taken to be 0",
    symptom="works until a tokenizer with another padding id comes along",
    why="the masks compare with 0, not with the pad_id that the model was built with.",
    hint="Where is pad_id kept, and who reads it?",
)
class PadIdIgnored(Model):
    def source_mask(self, source: Tensor) -> Tensor | None:
        return padding_mask(source, 0)

    memory_mask = source_mask


@mistake(
    "the decoder does not use the memory",
    symptom="fluent sentences that have nothing to do with the source",
    why="cross-attention takes its keys and values from the target (or from nowhere), not from the encoder's output.",
    hint="In cross-attention, what is the query, and what are key and value?",
)
class MemoryUnused(Model):
    def decode(self, target: Tensor, memory: Tensor, source: Tensor, cache: DecoderCache | None = None) -> Tensor:
        x = self.place(self.target_embedding(target), "target")
        return self.decoder(x, x, self.target_mask(target), self.target_mask(target))


@mistake(
    "the source's tokens carry no position",
    symptom="a sentence and its words in any other order get the same translation",
    why="encode embeds the ids and goes straight into the layers.",
    hint="What has to be added to the embeddings before the first layer?",
)
class NoSourcePositions(Model):
    def place(self, x: Tensor, side: str) -> Tensor:
        return x if side == "source" else super().place(x, side)


@mistake(
    "the target's tokens carry no position",
    symptom="the decoder repeats itself and loses its place in the sentence",
    why="decode embeds the ids and goes straight into the layers.",
    hint="What has to be added to the embeddings before the first layer, on this side too?",
)
class NoTargetPositions(Model):
    def place(self, x: Tensor, side: str) -> Tensor:
        return x if side == "target" else super().place(x, side)


@mistake(
    "no token carries a position, in the source or in the target (or all carry the same one)",
    symptom="word order is invisible: 'dog bites man' and 'man bites dog' are one sentence",
    why="the positional encoding is left out, or indexed by something that is the same for all tokens of a sentence.",
    hint="What does your positional encoding add to the first token, and what to the second?",
)
class NoPositions(Model):
    def place(self, x: Tensor, side: str) -> Tensor:
        return nn.functional.dropout(x, self.config.dropout, self.training)

"""The paper's Figure 1 as a map: every block opens with its shape, formula, parameters and numbers."""

from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import traitlets
from torch import Tensor, nn

from transformer_edu.book.figures.attention_weights import first_crossing
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import choice, field, index, made
from transformer_edu.book.figures.sentence_data import Opening, SentenceFigure, sentence_field, translate
from transformer_edu.inspect.record import record_activations, record_attention
from transformer_edu.support.modes import evaluation_mode
from transformer_edu.transformer import Transformer

BEST = 5  # most likely words kept for each position
WIDEST = 128  # numbers in a row that a heatmap can show
ENCODER_LAYER = ("self", "after_self", "feed_forward", "after_feed_forward")
DECODER_LAYER = ("self", "after_self", "cross", "after_cross", "feed_forward", "after_feed_forward")
MODULES = {  # block of a layer -> the module that holds its parameters
    "self": "self_attention",
    "after_self": "self_attention_residual",
    "cross": "cross_attention",
    "after_cross": "cross_residual",
    "feed_forward": "feed_forward",
    "after_feed_forward": "feed_forward_residual",
}
SIZES = ("d_model", "num_heads", "d_ff", "num_layers", "source_vocab_size", "target_vocab_size")


def path(num_layers: int) -> list[str]:
    """All blocks in the order of computation; names as in `record_activations`, and "softmax" at the end."""
    blocks = []
    for stack, layer in (("encoder", ENCODER_LAYER), ("decoder", DECODER_LAYER)):
        blocks += [f"{stack}.embedding", f"{stack}.positional"]
        blocks += [f"{stack}.{number}.{name}" for number in range(num_layers) for name in layer]
    return [*blocks, "logits", "softmax"]


def trace_of(opened: Opening, block: str) -> tuple[dict[str, Any], Tensor]:
    """One sentence through the model, its translation as the decoder's input: what the map shows at first.

    Activations are kept in hundredths, attention weights in ten-thousandths, both as rows of whole numbers in one
    string: exact to 0.005 and 0.00005. Of the blocks only `block` and the two before it, of which it is made.

    Returns:
        The trace, and the last layer's cross-attention (heads, tgt_len, src_len).
    """
    model, french = opened.model, opened.vocabularies[1]
    check_model(model)
    source, ids = translate(model, opened.vocabularies, opened.words, opened.line["most"])
    logits, activations, maps = run(model, source, ids[:, :-1])
    blocks = path(model.config.num_layers)
    needed = blocks[max(0, blocks.index(block) - 2) : blocks.index(block) + 1]
    return (
        {
            "source_tokens": opened.words,
            "target_tokens": [french.word(i) for i in ids[0, 1:].tolist()],  # word i is written after those before it
            "sizes": {name: getattr(model.config, name) for name in SIZES},
            "parameters": parameter_counts(model),
            "activations": {name: whole_rows(activations[name][0], 100) for name in needed if name in blocks[:-2]},
            "weights": {name: [whole_rows(head, 10_000) for head in maps[name][0]] for name in needed if name in maps},
            "candidates": [best_words(row, french) for row in logits[0]],
        },
        maps[f"decoder.{model.config.num_layers - 1}.cross"][0],
    )


def run(model: Transformer, source: Tensor, target: Tensor) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """Logits (1, seq, vocab), activations and attention weights of one pass in evaluation mode."""
    with (
        torch.no_grad(),
        evaluation_mode(model),
        record_activations(model) as activations,
        record_attention(model) as maps,
    ):
        logits = model(source, target)
    return logits, activations, maps


def whole_rows(matrix: Tensor, scale: int) -> list[str]:
    """Each row as one string of whole numbers, in units of 1 / scale: [[0.5, -1.0]] at 100 -> ["50 -100"]."""
    return [" ".join(map(str, row)) for row in (matrix.double() * scale).round().long().tolist()]


def best_words(logits: Tensor, vocabulary: Any) -> list[list[Any]]:
    """The most likely next words, best first: [word, score, probability]; logits (vocab)."""
    probabilities, ids = logits.double().softmax(dim=-1).topk(min(BEST, len(logits)))
    found = zip(ids.tolist(), probabilities.tolist(), strict=True)
    return [[vocabulary.word(i), round(float(logits[i]), 2), round(p, 6)] for i, p in found]


def parameter_counts(model: Transformer) -> dict[str, int]:
    """How many numbers each block has learnt. A shared table counts where it is first used: the sum is exact."""
    counted: set[int] = set()

    def count(module: nn.Module) -> int:
        new = [parameter for parameter in module.parameters() if id(parameter) not in counted]
        counted.update(map(id, new))
        return sum(parameter.numel() for parameter in new)

    counts = {}
    for name in path(model.config.num_layers):
        stack, _, block = name.partition(".")
        number, _, part = block.partition(".")
        if block == "embedding":
            counts[name] = count(model.source_embedding if stack == "encoder" else model.target_embedding)
        elif part:
            counts[name] = count(getattr(getattr(model, stack).layers[int(number)], MODULES[part]))
        else:
            counts[name] = count(model.projection) if name == "logits" else 0
    return counts


def check_model(model: Transformer) -> None:
    """Raise unless this is a Transformer as in the paper's figure 1, whose numbers can be drawn."""
    if model.config.norm != "post" or model.config.has_final_norm:
        raise ValueError(
            "model must have its norms as in the paper's figure 1 (norm='post', no final norm), "
            f"got norm={model.config.norm!r}, final_norm={model.config.final_norm!r}"
        )
    if model.config.d_model > WIDEST:
        raise ValueError(f"model must have d_model of at most {WIDEST} to be drawn, got {model.config.d_model}")


def _traced(so: SimpleNamespace) -> dict[str, Any]:
    trace, cross = trace_of(so.opened, so.block)
    so.meeting = meeting(cross)
    return trace


class ArchitectureMap(SentenceFigure):
    """A clickable map of the whole Transformer, with the real numbers of the reader's sentence at every block.

    Args:
        sentence: at most twelve words that the model knows; the decoder's input is the model's translation.
        block: the block that is open first, named as in `record_activations` ("encoder.embedding", "decoder.1.cross",
            "logits", ...) or "softmax".
        source_token, target_token: the words followed through, counted from 0. The target token is the word
            *written*; its row has the word before it as input. None: the first written word at which the two word
            orders cross, and the source word that it looks at.
        source_name, target_name: what the two languages are called.
        model, vocabularies: a model of one's own with its two vocabularies, in place of the shipped one.
    """

    figure_name: ClassVar[str] = "architecture-map"

    sentence = sentence_field()
    block = choice("encoder.embedding", lambda so: path(so.opened.model.config.num_layers))
    trace = made(traitlets.Dict(), lambda so: _traced(so))
    source_token = index(lambda so: so.meeting[1], lambda so: len(so.opened.words))
    target_token = index(lambda so: so.meeting[0], lambda so: len(so.trace["target_tokens"]))
    source_name = field(traitlets.Unicode(), lambda so: "English" if so.name else "source", lambda _, name, so: name)
    target_name = field(traitlets.Unicode(), lambda so: "French" if so.name else "target", lambda _, name, so: name)

    def alt_text(self) -> str:
        """The machine, the block that is open, and the words followed."""
        sizes, counts, sentence = self.trace["sizes"], self.trace["parameters"], self.trace["source_tokens"]
        written = self.trace["target_tokens"][self.target_token]
        return (
            f"Map of a Transformer: an encoder stack of {sizes['num_layers']} layers on the left, a decoder stack of "
            f"{sizes['num_layers']} on the right, an arrow with the encoder's output from one to the other, "
            f"embeddings and positional encodings below, projection and softmax above; {sum(counts.values()):,} "
            f"parameters. Open is {block_in_words(self.block)} with {counts[self.block]:,} parameters and its numbers "
            f"for “{' '.join(sentence)}”; followed are “{sentence[self.source_token]}” and the position at which "
            f"“{spoken(written)}” is written."
        )


def meeting(cross: Tensor) -> tuple[int, int]:
    """The written word at which the two word orders cross, and the source word that it looks at: of a last layer."""
    row = first_crossing(cross.tolist(), None)
    return row, int(cross.mean(dim=0)[row].argmax())


def block_in_words(block: str) -> str:
    """A block's name in words: "decoder.1.after_cross" -> "the decoder's add & norm after cross-attention, layer 2"."""
    if "." not in block:
        return {"logits": "the projection", "softmax": "the softmax"}[block]
    stack, *rest = block.split(".")
    names = {"self": "self-attention", "cross": "cross-attention", "feed_forward": "feed-forward"}
    part = names.get(rest[-1].removeprefix("after_"), {"positional": "positional encoding"}.get(rest[-1], rest[-1]))
    after = "add & norm after " if rest[-1].startswith("after_") else ""
    layer = f", layer {int(rest[0]) + 1}" if len(rest) > 1 else ""
    return f"the {stack}'s {after}{part}{layer}"

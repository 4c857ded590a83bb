"""Bugs of one line each, in the file `healthy_translator`: the line, and what stands there instead (chapter 17)."""

import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_edu.book.experiments import healthy_translator

SOURCE = Path(healthy_translator.__file__).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Bug:
    """`right` stands once in the healthy file; with `wrong` in its place the file has the bug. "" takes it out."""

    name: str
    right: str
    wrong: str
    why: str
    check: tuple[str, str] | None = None  # a piece of the checks' catalogue, and the mistake's name there


HEALTHY = Bug("none", "", "", "")
MASKED = "mask = causal_mask(target.shape[1]) & padding_mask(target)"
STATISTICS = "torch.var_mean(x, dim=-1,"
BUGS = (
    Bug(
        "the optimizer holds copies",
        "Adam(model.parameters(),",
        "Adam([p.data for p in model.parameters()],",
        "`.data` is another tensor, and it never gets a gradient: the optimizer has nothing to do.",
    ),
    Bug(
        "softmax before the loss",
        "logits = model(source, read)",
        "logits = model(source, read).softmax(dim=-1)",
        "`cross_entropy` takes the softmax itself. Of numbers between 0 and 1 it makes almost equal probabilities.",
        ("label smoothing", "softmax is applied twice: cross_entropy is given probabilities"),
    ),
    Bug(
        "the rate is ten times too high",
        "350, 50, 1.2e-2",
        "350, 50, 1.2e-1",
        "The first large steps throw the weights far away, and from there little is learned.",
    ),
    Bug(
        "gradients add up",
        "        optimizer.zero_grad()\n",
        "",
        "`backward` adds to what is there, so each step follows the sum of all gradients so far.",
    ),
    Bug(
        "pairs torn apart",
        "for english, _ in pairs]",
        "for english, _ in sorted(pairs)]",
        "One side is sorted and the other is not, so an English sentence stands beside the French of another.",
    ),
    Bug(
        "the gradient ends at the memory",
        "self.decode(target, self.encode(source), source)",
        "self.decode(target, self.encode(source).detach(), source)",
        "`detach` cuts the graph: the decoder learns to read an encoder that stays as it was drawn.",
    ),
    Bug(
        "no causal mask",
        MASKED,
        "mask = padding_mask(target)",
        "Each place sees the next word, which it is asked for. When it writes, that word is not there.",
        ("target mask", "only the padding is blocked: the causal mask is missing or overwritten"),
    ),
    Bug(
        "the target is not shifted",
        "target[:, :-1], target[:, 1:]",
        "target[:, :-1], target[:, :-1]",
        "Each place is asked for the word that it has just read.",
        ("shifted target", "the target is not shifted: the decoder is asked for the token that it has just read"),
    ),
    Bug(
        "heads merged without the transpose",
        "heads.transpose(1, 2).flatten(-2)",
        "heads.reshape(query.shape)",
        "The shape is right, but a row now holds numbers of other rows, later ones among them.",
        ("split and merge", "merge lacks the transpose: the numbers stay in the order of heads"),
    ),
    Bug(
        "padding counts in the loss",
        "asked.flatten(), ignore_index=PAD)",
        "asked.flatten())",
        "To say padding after padding is easy, and the mean over words and padding looks better than the words are.",
        ("label smoothing", "padding counts: its loss is not left out"),
    ),
    Bug(
        "the wrong begin token",
        "torch.full((len(source), 1), BOS)",
        "torch.full((len(source), 1), PAD)",
        "In training each answer began with BOS. Nothing was ever said after PAD.",
    ),
    Bug(
        "no end token in the data",
        "[BOS, *french, EOS]",
        "[BOS, *french]",
        "What never stands in a target is never written: the answers do not end.",
        ("shifted target", "<eos> is dropped: the decoder never has to say it"),
    ),
    Bug(
        "the encoder sees padding",
        "layer(x, padding_mask(source))",
        "layer(x, None)",
        "A word's vector depends on how much padding stands behind it, so on its neighbours in the batch.",
        ("transformer", "the encoder does not mask the source's padding"),
    ),
    Bug(
        "positions counted along the batch",
        "self.table[: x.shape[1]]",
        "self.table[: x.shape[0], None]",
        "Dimension 0 is the batch: each sentence gets one position, and its words have no order.",
        ("positional encoding", "the table is indexed by the batch, x.size(0), not by the position"),
    ),
    Bug(
        "the norm runs over the batch",
        STATISTICS,
        "torch.var_mean(x, dim=0,",
        "Mean and variance come from the sentences beside it. A sentence alone is its own mean.",
        ("layer normalization", "mean and variance are taken over the batch (dim 0)"),
    ),
    Bug(
        "model.eval() forgotten",
        "    model.eval()\n",
        "",
        "The evaluation runs with dropout on, as the training left the model.",
        ("greedy search", "the search runs in training mode"),
    ),
    Bug(
        "dropout that is always on",
        "F.dropout(y, self.dropout, self.training)",
        "F.dropout(y, self.dropout)",
        "`F.dropout` is no module: unless it is told, it does not know that the training is over.",
        ("transformer", "dropout is active in eval mode"),
    ),
    Bug(
        "a causal mask in training only",
        MASKED,
        f"{MASKED} if self.training else padding_mask(target)",
        "In evaluation it reads rows that see what no row saw in training.",
        (
            "transformer",
            "only the padding is blocked: the causal mask is missing, overwritten, or joined with OR",
        ),
    ),
    Bug(
        "the padding mask inverted",
        "(ids != PAD)",
        "(ids == PAD)",
        "Only padding may be looked at. A sentence without padding has nowhere to look.",
        ("padding mask", "the mask is inverted: True marks the padding"),
    ),
    Bug(
        "the causal mask upside down",
        ".tril()",
        ".triu()",
        "`triu` keeps the present and the future. Padding stands last and has only padding there: nowhere to look.",
        ("causal mask", "it is the upper triangle: each token sees itself and the future"),
    ),
    Bug(
        "padding may not look",
        "layer(x, padding_mask(source))",
        "layer(x, padding_mask(source) & padding_mask(source).mT)",
        "The rows of the padding are blocked as well: a softmax over nothing, 0/0, and it spreads.",
        ("padding mask", "padding is blocked both as a key and as a query"),
    ),
    Bug(
        "targets cut off",
        "torch.tensor([BOS, *french, EOS])",
        "torch.tensor([BOS, *french, EOS][:8])",
        "Of a long sentence the last words and the end token are gone, and the model learns that.",
    ),
    Bug(
        "answers cut off",
        "max_len: int = 20",
        "max_len: int = 8",
        "The search stops before a long sentence is through.",
    ),
    Bug(
        "minus a billion",
        "~mask, -math.inf",
        "~mask, -1e9",
        "float16 reaches to 65,504.",
        ("attention", "-1e9 does not fit into half precision"),
    ),
    Bug(
        "a softmax written by hand",
        "torch.softmax(scores, dim=-1)",
        "scores.exp() / scores.exp().sum(dim=-1, keepdim=True)",
        "float16 reaches to 65,504, which is exp(11.09): a score above that is infinite, and ∞/∞ is not a number.",
        ("softmax", "large scores overflow"),
    ),
)


def text_of(bug: Bug) -> str:
    """The text of the healthy file with this bug in it."""
    return SOURCE.replace(bug.right, bug.wrong) if bug.right else SOURCE


def broken(bug: Bug) -> Any:
    """The healthy file with this bug in it, as a module of its own."""
    module: Any = types.ModuleType(f"translator with {bug.name}")
    exec(compile(text_of(bug), module.__name__, "exec"), module.__dict__)
    return module


def line_of(bug: Bug) -> tuple[str, str]:
    """The line at fault as it should be and as it is, without indentation; "" for a line that is missing."""
    number = SOURCE[: SOURCE.index(bug.right)].count("\n")
    if bug.right.endswith("\n"):
        return bug.right.strip(), ""
    return SOURCE.splitlines()[number].strip(), text_of(bug).splitlines()[number].strip()

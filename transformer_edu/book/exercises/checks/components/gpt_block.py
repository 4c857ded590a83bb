"""Checks GPT's block as the judge does, in any layout; what other models do on purpose is a mistake here."""

from collections.abc import Callable

from torch import nn

from transformer_edu.book.exercises.checks.engine import Mistake
from transformer_edu.book.exercises.checks.part import check_part

CHAPTER = 18


def check_gpt_block(cls: Callable[..., nn.Module]) -> None:
    """Check cls(d_model, num_heads, d_ff), a module called with x (batch, seq, d_model) and a mask (seq, seq).

    The mask is boolean, True = may attend. Pre-norm: a layer norm stands in front of each of the two parts, inside the
    residual branch. The activation is GELU, exact or by tanh. It may have dropout.
    """
    check_part(cls, "decoder_only_block", asked=ASKED)


TURNED_ROUND = Mistake(
    "the mask is the wrong way round, as for torch.nn.MultiheadAttention",
    symptom="with the masks of this book each token sees only the future, and the last one nothing: NaN",
    why="True means *may attend* here; in that class it means *may not*.",
    hint="What does the documentation of attn_mask say about True?",
)
ADDITIVE = Mistake(
    "the mask is added to the scores, and a boolean one adds 0 or 1",
    symptom="a training loss that falls far too low: nothing is hidden",
    why="additive masks hold 0 and −∞; here a mask says True where a token may look.",
    hint="What do your scores become where the mask is False?",
)
ASKED: dict[str, Mistake | None] = {  # what the judge remarks, by its words: a mistake here; None: it is asked for
    "(post-norm": Mistake(
        "it is a post-norm block, as in the paper",
        symptom="weights of GPT-2 do not fit in it, and a deep stack needs a warm-up to train",
        why="the norm stands after the sum; since GPT-2 it stands in front of each part, and the sum stays as it is.",
        hint="Is the output of your block normalized? In GPT it is not: the stack has one more norm at its end.",
    ),
    "norms stand behind the parts": Mistake(
        "the parts' outputs are normalized, not what they read",
        symptom="parts that read sums of any size, and weights of GPT-2 that do not fit",
        why="norm(part(x)) closes the norm around the part; pre-norm is part(norm(x)).",
        hint="In x + part(norm(x)), what does attention read?",
    ),
    "norms stand before and behind": Mistake(
        "each part has a second norm, behind it",
        symptom="four norms in a block where GPT-2 has two: its weights do not fit",
        why="norm(part(norm(x))) is Gemma's; GPT adds what the part returns as it is.",
        hint="How many norms does a block of two parts need?",
    ),
    "side by side": Mistake(
        "the part reads the layer's input at the feed-forward network, side by side with attention",
        symptom="the feed-forward part never sees what attention has found in this block",
        why="GPT-J and GPT-NeoX do so on purpose; in GPT the second part reads the sum behind the first.",
        hint="Which of your variables does the second norm read?",
    ),
    "ReLU stands where GPT has GELU": Mistake(
        "the activation is still ReLU",
        symptom="a slightly higher loss, and weights of GPT-2 that write nonsense",
        why="the paper's feed-forward part has max(0, x) between its matrices; GPT has GELU.",
        hint="What does your activation make of −1? GELU makes −0.159 of it.",
    ),
    "SiLU stands where GPT has GELU": Mistake(
        "the activation is SiLU, not GELU",
        symptom="weights of GPT-2 write nonsense",
        why="SiLU is x · sigmoid(x), GELU x · Φ(x): alike, and not the same.",
        hint="What does your activation make of −1? GELU makes −0.159 of it.",
    ),
    "whose True is blocked": TURNED_ROUND,
    "1 where blocked": TURNED_ROUND,
    "an additive mask": ADDITIVE,
    "it sees later tokens too": None,
    "unless it is handed a causal mask": None,
    "a mask of two dimensions": None,
    "a mask of three dimensions": None,
    "it takes no dropout": None,
}

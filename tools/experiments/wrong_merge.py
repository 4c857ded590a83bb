"""What becomes of a translator whose heads are merged without the transpose (chapter 7)?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

from experiments.ablations import Ablation, run_ablation
from transformer_edu.attention import MultiHeadAttention
from transformer_edu.book.experiments import experiment
from transformer_edu.support.shapes import Tensor
from transformer_edu.support.validation import check_choice
from transformer_edu.training.grammar_model import grammar_config
from transformer_edu.transformer import Transformer

SEEDS = (0, 1, 2)
STEPS = 300
PLACES = ("nowhere", "encoder", "everywhere")


class WrongMerge(MultiHeadAttention):
    """Attention that puts its heads back without the transpose: the shape is right, the rows are not."""

    def merge_heads(self, x: Tensor) -> Tensor:
        """(batch, heads, seq, d_head) -> (batch, seq, d_model), read straight through."""
        batch, heads, seq, d_head = x.shape
        return x.reshape(batch, seq, heads * d_head)


def merge_wrongly(model: Transformer, place: str) -> None:
    """Change every attention of the encoder, of the whole model, or none; the weights stay."""
    check_choice("place", place, PLACES)
    wholes: dict[str, list[nn.Module]] = {"nowhere": [], "encoder": [model.encoder], "everywhere": [model]}
    for whole in wholes[place]:
        for part in whole.modules():
            if isinstance(part, MultiHeadAttention):
                part.__class__ = WrongMerge


@experiment("wrong-merge")
def record_wrong_merge(
    seeds: Sequence[int] = SEEDS, steps: int = STEPS, sentences: int = 200, places: Sequence[str] = PLACES
) -> dict[str, Any]:
    """Chapter 13's recipe for half its steps, from several seeds: held-out loss and translations. Four minutes."""
    runs = []
    for place in places:
        change = Ablation("merge", place, grammar_config(), partial(merge_wrongly, place=place))
        for seed in seeds:
            runs.append({"place": place, **run_ablation(change, seed, steps, sentences)})
    return {"steps": steps, "runs": runs}

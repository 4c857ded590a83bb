"""What a decoder stepper opens with: the decoder's steps while it writes, each as the page computes it.

A step is one input of the decoder: the begin token and some words.
"""

from typing import Any

import torch
from torch import Tensor

from transformer_edu.book.figures.sentence_data import Opening
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.inspect.changes import changed
from transformer_edu.inspect.record import record_attention

DIGITS = 5  # after the point
LIKELY = 5  # next words that are offered
SHOWN_DIMENSIONS = 4  # of an output vector
MAX_INPUT = 16  # tokens of the decoder's input, the begin token counted

END = "<eos>"


@torch.no_grad()
def decoder_steps(opening: Opening, path: list[str], masked: bool = True) -> dict[str, Any]:
    """The steps on the way of `path` and, from there on, of the model's own words up to the end token.

    Returns:
        `source`: the words read. `written`: the words of the path and those that follow it. `steps`, one before each
        written word: `self` and `cross` (for each layer the newest position's weights, mean of the heads), `outputs`
        (for each position the first four numbers of its output vector), `moved` (for each position but the newest: how
        far the newest word has moved any number of its output), `next` (likeliest words: [word, probability]), `taken`
        (of the word that was written: probability, and its place among all that may be written).
    """
    model, (english, french) = opening.model, opening.vocabularies
    source = torch.tensor([english.encode(opening.words)])
    memory = model.encode(source)
    ids, before = [BOS_ID], None
    steps: list[dict[str, Any]] = []
    forced = [EOS_ID if word == END else french.encode([word])[0] for word in path]
    most = min(MAX_INPUT, model.config.max_len)
    with changed(model, unmasked=not masked), record_attention(model) as maps:
        while ids[-1] != EOS_ID and len(ids) <= most:
            output = model.decode(torch.tensor([ids]), memory, source)  # (1, seq, d_model)
            chances = model.project(output[:, -1:])[0, 0].softmax(dim=-1)  # (vocab,)
            chances[[PAD_ID, BOS_ID]] = -1.0  # never written
            likely = chances.argsort(descending=True).tolist()
            word = forced[len(ids) - 1] if len(ids) <= len(forced) else likely[0]
            kinds = {kind: [maps[f"decoder.{i}.{kind}"] for i in range(model.config.num_layers)] for kind in KINDS}
            step: dict[str, Any] = {
                kind: [_rounded(heads[0, :, -1].mean(dim=0)) for heads in layers] for kind, layers in kinds.items()
            }
            step["outputs"] = [_rounded(row) for row in output[0, :, :SHOWN_DIMENSIONS]]
            step["moved"] = [] if before is None else _rounded((output[0, :-1] - before).abs().amax(dim=1), 6)
            step["next"] = [[french.word(one), round(chances[one].item(), DIGITS)] for one in likely[:LIKELY]]
            step["taken"] = [round(chances[word].item(), DIGITS), likely.index(word) + 1]
            steps.append(step)
            before = output[0]
            ids.append(word)
    return {"source": opening.words, "written": [french.word(one) for one in ids[1:]], "steps": steps}


KINDS = ("self", "cross")


def _rounded(values: Tensor, digits: int = DIGITS) -> list[float]:
    return [round(value, digits) for value in values.tolist()]

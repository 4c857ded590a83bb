"""The shipped grammar model at work on the running sentence: what the attention map shows."""

from typing import Any

import torch
from torch import Tensor

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.data import BOS_ID, EOS_ID, Vocabulary, align
from transformer_edu.data.examples import RUNNING_SENTENCE
from transformer_edu.decoding.greedy import greedy_search
from transformer_edu.inspect.record import record_attention
from transformer_edu.transformer import Transformer


@experiment("running-sentence")
def record_running_sentence() -> dict[str, Any]:
    """All attention on the running sentence, and the best five words of each step. A second.

    Row j of a map over the target belongs to the decoder's input word j, and is used to say the word after it.
    """
    shipped = pretrained.load_grammar()
    model, english, french = shipped.model, shipped.source_vocabulary, shipped.target_vocabulary
    source = torch.tensor([english.encode(RUNNING_SENTENCE)])  # (1, src_len)
    ids = greedy_search(model, source, BOS_ID, EOS_ID, model.config.max_len)  # <bos> ... <eos>
    attention, logits = attention_and_logits(model, source, ids[:, :-1])
    said = [french.word(int(i)) for i in ids[0, 1:]]
    best = [best_words(row, french) for row in logits]
    return {
        "source_tokens": RUNNING_SENTENCE.split(),
        "decoder_input_tokens": [french.word(int(i)) for i in ids[0, :-1]],
        "predicted_tokens": said,
        "translation": french.decode(ids[0].tolist()),
        "alignment": [list(pair) for pair in align(RUNNING_SENTENCE)],
        "steps": [{"chosen": word, "best": words} for word, words in zip(said, best, strict=True)],
        "attention": attention,
    }


def attention_and_logits(model: Transformer, source: Tensor, target: Tensor) -> tuple[dict[str, Any], Tensor]:
    """The weights of every attention, {name: [head][query][key]} at 4 decimals, and the logits (seq, vocab)."""
    with torch.no_grad(), record_attention(model) as maps:
        logits = model(source, target)[0]
    return {name: rounded(weights[0]) for name, weights in maps.items()}, logits


def rounded(tensor: Tensor) -> Any:
    """A tensor as nested lists of numbers with 4 decimals."""
    if tensor.dim():
        return [rounded(row) for row in tensor]
    return round(tensor.item(), 4)


def best_words(logits: Tensor, vocabulary: Vocabulary, count: int = 5) -> list[list[Any]]:
    """The most probable next words with their probabilities, best first; logits (vocab)."""
    probabilities, ids = logits.softmax(dim=-1).topk(count)
    return [[vocabulary.word(int(i)), round(float(p), 4)] for p, i in zip(probabilities, ids, strict=True)]

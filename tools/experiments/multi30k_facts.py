"""Facts about Multi30k, and one set of translations scored in right and wrong ways (chapter 15)."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU

from transformer_edu import pretrained
from transformer_edu.book.experiments import experiment
from transformer_edu.data.multi30k import SPLITS, multi30k_pairs
from transformer_edu.data.parallel import TextPair
from transformer_edu.data.token_budget import epoch_batches, padding_waste, token_budget_batches
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.training.evaluate import lowercase_bleu
from transformer_edu.translate.translator import Translation, Translator

WORDS = ("schläft", "nicht", "schläft nicht", "Regen", "Herrchen", "Enten", "Entfernung", "Zeit", "heute", "Ich")
MAX_TOKENS = 1280  # of a training batch


@experiment("multi30k-facts")
def record_multi30k_facts(folder: str | Path | None = None) -> dict[str, Any]:
    """See `text_facts`, `ways_to_score` and `how_sure`. About two minutes of one thread. Reads Multi30k's files.

    Args:
        folder: where Multi30k's files are; None: see `multi30k_pairs`.
    """
    translator = pretrained.load_translator()
    texts = {split: multi30k_pairs(split, folder, "de", "en") for split in SPLITS}
    test = texts["test_2016_flickr"]
    found = [best[0] for best in translator.translate_all([german for german, _ in test])]
    references = [english for _, english in test]
    return {
        **text_facts(texts["train"], test, translator.tokenizer),
        "pairs": {split: len(pairs) for split, pairs in texts.items()},
        "scores": ways_to_score([answer.text for answer in found], taught_answers(translator, test), references),
        **how_sure(found, references),
    }


def text_facts(train: Sequence[TextPair], test: Sequence[TextPair], tokenizer: Tokenizer) -> dict[str, Any]:
    """What the German side holds, and how well the pairs pack.

    Returns:
        "words": distinct German words of the training text, split at what is no letter or digit; "once": of these,
        how many occur once. "test_words", "test_unseen": running words of the test text, and how many of them
        training never shows. "captions_with": word, or words in a row -> training captions that hold it.
        "subwords": of a training caption in the mean, German and English. "padding": share of the cells, with
        batches as they come and as trained.
    """
    counts = Counter(word for german, _ in train for word in words_of(german))
    test_words = [word for german, _ in test for word in words_of(german)]
    ids = [tokenizer.encode_batch([pair[side] for pair in train]) for side in (0, 1)]
    lengths = [(len(source), len(target) + 1) for source, target in zip(*ids, strict=True)]
    return {
        "words": len(counts),
        "once": sum(count == 1 for count in counts.values()),
        "test_words": len(test_words),
        "test_unseen": sum(word not in counts for word in test_words),
        "captions_with": {words: sum(holds(german, words) for german, _ in train) for words in WORDS},
        "subwords": [round(sum(map(len, side)) / len(side), 1) for side in ids],
        "padding": {
            "as they come": round(padding_waste(lengths, token_budget_batches(lengths, MAX_TOKENS)), 4),
            "as trained": round(padding_waste(lengths, epoch_batches(lengths, MAX_TOKENS, seed=0)), 4),
        },
    }


def words_of(text: str) -> list[str]:
    """The words of a sentence, without punctuation."""
    return re.findall(r"\w+", text)


def holds(text: str, words: str) -> bool:
    """Whether these words stand in the text, in a row, whatever punctuation is between them."""
    return f" {words} " in f" {' '.join(words_of(text))} "


def ways_to_score(answers: Sequence[str], taught: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """BLEU, 0 .. 100, of one model on one text, counted in ways that can be met; `taught`: see `taught_answers`."""
    sentence = BLEU(lowercase=True, effective_order=True)
    scores = [sentence.sentence_score(a, [r]).score for a, r in zip(answers, references, strict=True)]
    twos = [lowercase_bleu(answers[i : i + 2], references[i : i + 2]) for i in range(0, len(references), 2)]
    ways = {
        "lowercased, tokenized": lowercase_bleu(answers, references),
        "standard: case counts": _score(BLEU(), answers, references),
        "punctuation left on the words": _score(BLEU(lowercase=True, tokenize="none"), answers, references),
        "mean of the sentences' scores": sum(scores) / len(scores),
        "letters in place of words": _score(BLEU(lowercase=True, tokenize="char"), answers, references),
        "with the right words given": lowercase_bleu(taught, references),
        "two sentences, the worst two": min(twos),
        "two sentences, the best two": max(twos),
    }
    return {name: round(score, 2) for name, score in ways.items()}


def how_sure(found: Sequence[Translation], references: Sequence[str]) -> dict[str, Any]:
    """How far chance reaches in the score, and whether the model's own probability is a warning.

    Returns:
        "interval": two ends of the 95 % interval of BLEU (lowercased) over 1,000 draws of as many sentences, with
        replacement. "quarters": the sentences in four parts, from those of which the model was least sure, each with
        "probability" (of a piece, geometric mean over a sentence, mean over the part) and "bleu".
    """
    score = BLEU(lowercase=True).corpus_score([answer.text for answer in found], [list(references)], n_bootstrap=1000)
    sure = [math.exp(answer.log_prob / max(len(answer.ids) - 1, 1)) for answer in found]
    order = sorted(range(len(found)), key=lambda index: sure[index])
    quarters = [order[len(order) * k // 4 : len(order) * (k + 1) // 4] for k in range(4)]
    return {
        "interval": [round(score.score + sign * score._ci, 2) for sign in (-1, 1)],
        "quarters": [
            {
                "probability": round(sum(sure[index] for index in part) / len(part), 3),
                "bleu": round(lowercase_bleu([found[i].text for i in part], [references[i] for i in part]), 2),
            }
            for part in quarters
        ],
    }


def _score(metric: BLEU, answers: Sequence[str], references: Sequence[str]) -> float:
    return float(metric.corpus_score(list(answers), [list(references)]).score)


@torch.no_grad()
def taught_answers(translator: Translator, pairs: Sequence[TextPair]) -> list[str]:
    """For each place of the reference the likeliest next piece when all *right* pieces before it are given."""
    tokenizer, answers = translator.tokenizer, []
    for german, english in pairs:
        source = torch.tensor([tokenizer.encode(german)])
        target = torch.tensor([[tokenizer.bos_id, *tokenizer.encode(english)]])
        answers.append(tokenizer.decode(translator.model(source, target)[0].argmax(dim=-1).tolist()))
    return answers

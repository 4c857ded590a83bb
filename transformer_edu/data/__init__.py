"""Data: words to ids, toy tasks, the English-French grammar, and batches."""

from transformer_edu.data.batching import Batch, encode_pairs, iterate_batches, make_batch, pad_sequences
from transformer_edu.data.corpus import (
    RUNNING_SENTENCE,
    held_out_combinations,
    held_out_pairs,
    is_held_out,
    sentence_pairs,
    train_pairs,
    vocabularies,
)
from transformer_edu.data.grammar import NounPhrase, Sentence, align, parse, translate
from transformer_edu.data.multi30k import multi30k_pairs
from transformer_edu.data.parallel import TextPair, read_parallel, read_tsv
from transformer_edu.data.toy import copy_pairs, random_sequences, reverse_pairs
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID, SPECIALS, UNK_ID, Vocabulary

__all__ = [
    "BOS_ID",
    "EOS_ID",
    "PAD_ID",
    "RUNNING_SENTENCE",
    "SPECIALS",
    "UNK_ID",
    "Batch",
    "NounPhrase",
    "Sentence",
    "TextPair",
    "Vocabulary",
    "align",
    "copy_pairs",
    "encode_pairs",
    "held_out_combinations",
    "held_out_pairs",
    "is_held_out",
    "iterate_batches",
    "make_batch",
    "multi30k_pairs",
    "pad_sequences",
    "parse",
    "random_sequences",
    "read_parallel",
    "read_tsv",
    "reverse_pairs",
    "sentence_pairs",
    "train_pairs",
    "translate",
    "vocabularies",
]

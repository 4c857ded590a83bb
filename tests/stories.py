"""A small GPT of a few sentences, for figures of a language model."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F

from transformer_edu.data.batching import pad_sequences
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.models import GPT, GPTConfig

STORIES = [
    f"Once upon a time, there was a little {who} named {name}. {name} had a {what}. One day, {name} lost the {what}."
    for who, name, what in (
        ("girl", "Lily", "red ball"),
        ("boy", "Tom", "small dog"),
        ("girl", "Mia", "big cat"),
        ("dog", "Max", "red bone"),
        ("cat", "Sue", "small bed"),
    )
]
STEPS = 120


def small_stories():
    """What `load_stories` gives, but small: a model that learnt five stories for some seconds, and its tokenizer."""
    tokenizer = Tokenizer.train(STORIES, vocab_size=360)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = GPT(GPTConfig(len(tokenizer), 32, 2, 64, 2, 0.0, 40, pad_id=tokenizer.pad_id))
        ids = pad_sequences([[1, *tokenizer.encode(story), 2][:40] for story in STORIES], 0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        for _ in range(STEPS):
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return SimpleNamespace(model=model.eval(), tokenizer=tokenizer, card={})

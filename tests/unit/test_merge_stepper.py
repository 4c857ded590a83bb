"""The merge stepper's Python side: its default state, its alt text, and what the tokenizers library learns."""

import random
from collections import Counter

from tests.unit.test_byte_pairs import library, library_merges
from transformer_edu.book.figures.merge_stepper import TEXT
from transformer_edu.data.byte_pairs import END, count_pairs, merge

EXAMPLE = {"text": "low low lower", "step": 2, "new_word": "slow"}
BAD = [
    (ValueError, "text must have 1 to 30 different words, got 0", {"text": "   "}),
    (ValueError, "text must have 1 to 30 different words, got 31", {"text": " ".join(map(str, range(31)))}),
    (ValueError, "step must be from 0 to 2, got 3", {"text": "ab", "step": 3}),
]
SAYS = [
    ({}, "18 words, 7 of them different", "at, cat, er, ld, old, er·.", "bolder is cut into b (unknown), old, er·."),
    ({}, f"it took {sum(len(word) + 1 for word in TEXT.split())} as characters"),
    ({"text": "low lower", "step": 0, "new_word": ""}, "Merges made so far: none"),
    ({"text": "ab ab"}, "Merges made so far: ab, ab·."),
]
SCENES = {
    "ties, unknown characters, no text, too many words, and what Reset brings back": [
        "“bolder”: b is not in the text, so it becomes <unk>",
        "> textbox Cut one word = colder; slider merges = 0",
        "“colder”: every character is known … a + t7nextc + a7tiee + r6 … Each word is cut into its characters",
        "A tie with c + a: the left symbol decides, a came into the vocabulary before c. On a tie",
        "> textbox Text = ab ac",
        "a + b1nexta + c1tieb + ·1tiec + ·1tie … the right symbol decides, b came into the vocabulary before c",
        "> textbox Text = " + " ".join(f"w{i}" for i in range(33)),
        "1 ×w29·pairs … Only the first 30 different words are used",
        "> textbox Text = ",
        "0 symbols … none left … 0 of 0 … Type some words",
        "> button Reset",
        "1 at2 cat3 er4 ld5 old6 er·",
    ],
    "what the last merge has changed stands beside what it was": [
        {"text": "tall taller smaller pale", "step": 0},
        "> button Next merge",
        "~ Merge 1 of 13: a plus l. Next: al plus l, 3 times. Vocabulary 11, text 21 symbols.",
        "25 → 21 symbols … l + e2 was 3 … vocabulary: 10 → 11 symbols",
    ],
}


def numbers():
    """The library's merges of some texts and how it cuts a word; step by step, the words and how often each pair is."""
    chance = random.Random(0)
    texts = [["".join(chance.choices("abcé😀", k=chance.randint(1, 7))) for _ in range(1 + i % 9)] for i in range(60)]
    return [course(words, "".join(chance.choices("abcé😀x", k=7))) for words in [TEXT.split(), *texts]]


def course(words, new_word):
    tokenizer, symbols = library(words), {(*word, END): count for word, count in Counter(words).items()}
    merges, steps = library_merges(tokenizer), []
    for pair in [*merges, None]:
        steps.append({"words": list(symbols.items()), "pairs": [[*two, n] for two, n in count_pairs(symbols).items()]})
        symbols = merge(symbols, pair) if pair else {}
    cut = tokenizer.encode(new_word + END).tokens
    learned = {"text": " ".join(words), "merges": merges, "steps": steps, "size": tokenizer.get_vocab_size()}
    return learned | {"new_word": new_word, "cut": cut}

"""The paper's block of 2017 beside those of published models, and what each change was worth in our experiment."""

from statistics import mean, stdev
from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.fields import choice, index, made, one_of

ROWS = {  # of `experiments.modern_block`, with the paper's choice
    "norm": ("norm", "layer"),
    "placed": ("place of the norm", "behind the sum"),
    "positions": ("positions", "sinusoid"),
    "keys": ("heads of keys", "each its own"),
    "sees": ("a token sees", "all"),
    "query_key_norm": ("norm of queries, keys", False),
    "scores": ("attention weights", "free"),
    "feed_forward": ("feed-forward", "ReLU"),
    "biases": ("biases", True),
}
NAMES = {
    "paper": "the paper, big model (2017)",
    "gpt2": "GPT-2 (2019)",
    "mistral": "Mistral, 7B (2023)",
    "llama": "Llama 3, 8B (2024)",
    "olmo": "OLMo 2, 7B (2024)",
    "deepseek": "DeepSeek-V3 (2024)",
    "gemma": "Gemma 3, 27B (2025)",
    "qwen": "Qwen 3, 8B (2025)",
    "gpt-oss": "gpt-oss, 20B (2025)",
}
LLAMA = {
    "norm": "rms", "placed": "before the part", "positions": "rotary", "keys": "two share", "feed_forward": "SwiGLU",
    "biases": False,
}  # fmt: skip
OWN = {"keys": "each its own"}
CHANGES: dict[str, dict[str, Any]] = {
    "paper": {},
    "gpt2": {"placed": "before the part", "positions": "learned", "feed_forward": "GELU"},
    "mistral": LLAMA | {"sees": "windows"},
    "llama": LLAMA,
    "olmo": LLAMA | OWN | {"placed": "behind the part", "query_key_norm": True},
    "deepseek": LLAMA | {"keys": "latent", "query_key_norm": "latent", "feed_forward": "experts"},
    "gemma": LLAMA | {"placed": "around the part", "feed_forward": "GeGLU", "query_key_norm": True, "sees": "windows"},
    "qwen": LLAMA | {"query_key_norm": True},
    "gpt-oss": LLAMA | {"feed_forward": "experts", "biases": True, "scores": "sinks", "sees": "windows"},
}
SIZES = {  # layers, d_model, d_head, heads, of keys, d_ff, vocabulary, window, layers with it, millions of parameters
    "paper": (6, 1024, 64, 16, 16, 4096, 37_000, 0, 0, 213),
    "gpt2": (12, 768, 64, 12, 12, 3072, 50_257, 0, 0, 124),
    "mistral": (32, 4096, 128, 32, 8, 14_336, 32_000, 4096, 32, 7_200),
    "llama": (32, 4096, 128, 32, 8, 14_336, 128_256, 0, 0, 8_000),
    "olmo": (32, 4096, 128, 32, 32, 11_008, 100_352, 0, 0, 7_300),
    "deepseek": (61, 7168, 128, 128, 0, 2048, 129_280, 0, 0, 671_000),  # 512 + 64 numbers are kept
    "gemma": (62, 5376, 128, 32, 16, 21_504, 262_208, 1024, 52, 27_000),
    "qwen": (36, 4096, 128, 32, 8, 12_288, 151_936, 0, 0, 8_200),
    "gpt-oss": (24, 2880, 64, 64, 8, 2880, 201_088, 128, 12, 20_900),
}
LATENT = 512 + 64
MEASURES = ("layers", "d_model", "d_head", "heads", "kv_heads", "d_ff", "vocab", "window", "near", "millions")
LENGTHS = tuple(2**i for i in range(10, 18))
TEXTS = tuple(2**i for i in range(8))


def models() -> dict[str, dict[str, Any]]:
    """Each model's name, sizes, numbers that a layer keeps of a token, and choices by row."""
    paper = {field: value for field, (_, value) in ROWS.items()}
    found = {}
    for name, sizes in SIZES.items():
        model: dict[str, Any] = dict(zip(MEASURES, sizes, strict=True))
        kept = 2 * model["kv_heads"] * model["d_head"] or LATENT
        found[name] = {**model, "name": NAMES[name], "kept": kept, "choices": paper | CHANGES[name]}
    return found


def differences() -> list[dict[str, Any]]:
    """What each change did to the loss in the recording: mean and spread over seeds, each against the same seed."""
    variants = recordings.load("modern-block")["data"]["variants"]
    losses = [{run["seed"]: run["loss"] for run in variant["runs"]} for variant in variants]
    base = {variant["base"]: by_seed for variant, by_seed in zip(variants, losses, strict=True) if not variant["field"]}
    found = []
    for variant, by_seed in zip(variants, losses, strict=True):
        gaps = [loss - base[variant["base"]][seed] for seed, loss in by_seed.items()]
        if variant["field"]:
            kept = {name: variant[name] for name in ("base", "field", "value")}
            found.append({**kept, "mean": round(mean(gaps), 6), "spread": round(stdev(gaps), 6), "seeds": len(gaps)})
    return found


def cache(model: dict[str, Any], tokens: int, texts: int, kept: int | None = None) -> int:
    """Bytes of a model's cache, two a number; with `kept`, of one whose layers all see everything and keep so much."""
    if kept:
        return 2 * kept * model["layers"] * tokens * texts
    places = (model["layers"] - model["near"]) * tokens + model["near"] * min(tokens, model["window"])
    return 2 * int(model["kept"]) * places * texts


class BlockYears(Figure):
    """Row by row the paper's block and a published model's, what a change was worth here, and the cache of both.

    Args:
        model: "paper", "gpt2", "mistral", "llama", "olmo", "deepseek", "gemma", "qwen" or "gpt-oss".
        row: the chosen one, counts from 0.
        tokens: of a text, 1,024 to 131,072, a power of two.
        texts: at once, 1 to 128, a power of two.
    """

    figure_name: ClassVar[str] = "block-years"

    model = choice("llama", NAMES)
    row = index(2, len(ROWS))
    tokens = one_of(LENGTHS[-1], LENGTHS)
    texts = one_of(1, TEXTS)
    rows = made(traitlets.List(), lambda so: [[field, *row] for field, row in ROWS.items()])
    models = made(traitlets.Dict(), lambda so: models())
    measured = made(traitlets.List(), lambda so: differences())

    def alt_text(self) -> str:
        """The rows that differ, and both caches."""
        model = self.models[self.model]
        other = [label for field, (label, value) in ROWS.items() if model["choices"][field] != value]
        same = [label for label, _ in ROWS.values() if label not in other]
        own, paper = cache(model, self.tokens, self.texts), cache(model, self.tokens, self.texts, 2 * model["d_model"])
        return (
            f"The paper's block of 2017 beside that of {model['name']}, in nine rows. Different: "
            f"{', '.join(other) or 'none'}. The same: {', '.join(same) or 'none'}. Cache of {self.texts} "
            f"× {self.tokens:,} tokens: {own / 1e9:.2f} GB, with the paper's block {paper / 1e9:.2f} GB."
        )

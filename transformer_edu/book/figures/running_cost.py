"""What one step of a language model keeps, fetches and multiplies, and which of the two takes longer on a machine."""

from typing import Any, ClassVar

import traitlets

from transformer_edu.book import recordings
from transformer_edu.book.figures import block_years
from transformer_edu.book.figures.base import Figure
from transformer_edu.book.figures.block_years import LENGTHS, TEXTS
from transformer_edu.book.figures.fields import choice, made, one_of

MODELS = ("mistral", "llama", "olmo", "gemma", "qwen")  # without experts, and for texts this long
MACHINES = ("gpu", "core")
TASKS = ("write", "read")
BITS = (16, 8, 4)


def models() -> dict[str, dict[str, Any]]:
    """Sizes of the models, as in the block's years."""
    return {name: model for name, model in block_years.models().items() if name in MODELS}


def machines() -> dict[str, dict[str, Any]]:
    """What a machine multiplies and fetches in a second, and the bytes that it has room for (0: not told).

    The GPU's are those of NVIDIA's data sheet for the H200 (bfloat16, no zeros left out); one core's were measured.
    """
    found = recordings.load("running-costs")["data"]
    return {
        "gpu": {"name": "H200 (data sheet)", "multiplies": 989e12, "fetches": 4.8e12, "room": 141e9},
        "core": {
            "name": "one CPU core (measured)", "multiplies": found["multiplied"], "fetches": found["fetched"],
            "room": 0,
        },
    }  # fmt: skip


def pairs(model: dict[str, Any], tokens: int, task: str) -> int:
    """Pairs of a query and a key that it may see, in all layers: of the last token, or of all."""
    sees = min(tokens, model["window"])
    if task == "write":
        return int((model["layers"] - model["near"]) * tokens + model["near"] * sees)
    whole, near = tokens * (tokens + 1) // 2, sees * (sees + 1) // 2 + (tokens - sees) * sees
    return int((model["layers"] - model["near"]) * whole + model["near"] * near)


def operations(model: dict[str, Any], tokens: int, texts: int, task: str) -> tuple[float, float]:
    """Of a step, with the weights and in attention: two a weight and token; four a pair and entry of a head."""
    new = 1 if task == "write" else tokens
    attended = 4.0 * model["heads"] * model["d_head"] * pairs(model, tokens, task)
    return 2e6 * model["millions"] * new * texts, texts * attended


def fetched(model: dict[str, Any], tokens: int, texts: int, bits: int) -> tuple[float, float]:
    """Bytes of the weights, and of the keys and values of all texts (16 bits each)."""
    return 1e6 * model["millions"] * bits / 8, float(block_years.cache(model, tokens, texts))


class RunningCost(Figure):
    """A model's step on a machine: bytes kept, time for fetching them, time for multiplying, tokens a second at most.

    Args:
        model: "mistral", "llama", "olmo", "gemma" or "qwen".
        machine: "gpu" or "core".
        task: "write", one token more for each text, or "read", whole texts at once.
        bits: of a weight, 16, 8 or 4.
        tokens: of each text, 1,024 to 131,072, a power of two.
        texts: at once, 1 to 128, a power of two.
    """

    figure_name: ClassVar[str] = "running-cost"

    model = choice("llama", MODELS)
    machine = choice("gpu", MACHINES)
    task = choice("write", TASKS)
    bits = one_of(16, BITS)
    tokens = one_of(8192, LENGTHS)
    texts = one_of(1, TEXTS)
    models = made(traitlets.Dict(), lambda so: models())
    machines = made(traitlets.Dict(), lambda so: machines())

    def alt_text(self) -> str:
        """Bytes, and both times."""
        model, machine = self.models[self.model], self.machines[self.machine]
        read = sum(fetched(model, self.tokens, self.texts, self.bits))
        done = sum(operations(model, self.tokens, self.texts, self.task))
        task = "write one token" if self.task == "write" else "read the text"
        return (
            f"Two bars of time for {model['name']} with weights of {self.bits} bits on {machine['name']}: to {task}, "
            f"for {self.texts} × {self.tokens:,} tokens, {read / 1e9:.1f} GB are fetched in "
            f"{1000 * read / machine['fetches']:.2f} ms, and {done / 1e9:,.0f} billion operations take "
            f"{1000 * done / machine['multiplies']:.2f} ms."
        )

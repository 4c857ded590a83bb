"""What a figure of the next word opens with: a beginning, what was drawn after it, what else could have been."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.decoding.sampling import sampling_probabilities

SHOWN = 12  # tokens that have a bar of their own
STORED = 20  # tokens that are drawn beforehand
DECIMALS = 5
WORD = 2**32 - 1


@dataclass(frozen=True)
class Settings:
    """How a token is drawn: those of `sampling_probabilities`, of which 1.0 and 0.0 leave all in, and the luck."""

    temperature: float = 0.8
    top_k: int | None = None
    top_p: float = 0.95
    min_p: float = 0.0
    seed: int = 0

    def left_in(self, logits: Tensor) -> Tensor:
        """The probabilities to draw from (vocab)."""
        return sampling_probabilities(logits, self.temperature, self.top_k, self.top_p, self.min_p)


def luck_at(seed: int, place: int) -> float:
    """A number from 0 to 1 for a place in a text, the same for the same seed: the page's `luckAt`."""
    x = (seed * 0x9E3779B1 ^ (place + 1) * 0x85EBCA77) & WORD
    x = ((x ^ x >> 16) * 0x85EBCA6B) & WORD
    x = ((x ^ x >> 13) * 0xC2B2AE35) & WORD
    return (x ^ x >> 16) / 2**32


def window_start(length: int, most: int) -> int:
    """Where the part of a text begins that a model of `most` tokens sees: the page's `windowStart`."""
    half = -(-most // 2)
    return 0 if length <= most else half * -((most - length) // half)


@torch.no_grad()
def next_logits(model: Any, ids: list[int]) -> Tensor:
    """Scores (vocab) of the token after `ids`; padding and the begin token cannot come."""
    logits: Tensor = model(torch.tensor([ids[window_start(len(ids), model.config.max_len) :]]))[0, -1]
    logits[[PAD_ID, BOS_ID]] = -torch.inf
    return logits


@lru_cache(maxsize=4)
def recorded_text(content: bytes, beginning: str, settings: Settings) -> dict[str, Any]:
    """A beginning, up to 20 tokens drawn after it as the page draws them, and each place's most probable tokens.

    Returns:
        beginning, settings, max_len, vocab; `read`, its tokens; `written` [[id, token], ...]; for each place, also the
        one after the last, `best` [[id, token, probability at the temperature], ...], how many tokens are `kept`, and
        their probability together, `mass`.
    """
    model, tokenizer = cast("tuple[Any, Tokenizer]", read_page_file(content))
    read = tokenizer.encode(beginning)
    ids: list[int] = []
    places = []
    for place in range(STORED + 1):
        logits = next_logits(model, [BOS_ID, *read, *ids])
        chances, order = torch.softmax(logits / settings.temperature, dim=-1).sort(descending=True, stable=True)
        kept = int((settings.left_in(logits) > 0).sum())
        best = [[one, tokenizer.id_to_token(one)] for one in order[:SHOWN].tolist()]
        rounded = [round(chance, DECIMALS) for chance in chances[:SHOWN].tolist()]
        mass = float(chances[:kept].sum())
        places.append(
            {
                "best": [[*one, chance] for one, chance in zip(best, rounded, strict=True)],
                "kept": kept,
                "mass": round(mass, DECIMALS),
            }
        )
        if place == STORED or (ids and ids[-1] == EOS_ID):
            break
        target = luck_at(settings.seed, place) * mass
        ids.append(int(order[min(int((chances.double().cumsum(0) <= target).sum()), kept - 1)]))
    return {
        "beginning": beginning,
        "settings": asdict(settings),
        "max_len": model.config.max_len,
        "vocab": len(tokenizer),
        "read": [tokenizer.id_to_token(one) for one in read],
        "written": [[one, tokenizer.id_to_token(one)] for one in ids],
        "places": places,
    }

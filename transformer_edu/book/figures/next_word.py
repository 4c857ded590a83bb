"""Write a story token by token, in the page: what may come next, what the filters leave in, what luck draws."""

from dataclasses import asdict, dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import torch
import traitlets
from torch import Tensor

from transformer_edu.book.engine.page_file import read_page_file
from transformer_edu.book.figures.base import spoken
from transformer_edu.book.figures.fields import argument, field, made, real, text, whole
from transformer_edu.book.figures.inputs import check_range
from transformer_edu.book.figures.model_figure import ModelFigure, file_of
from transformer_edu.data.tokenizer import Tokenizer
from transformer_edu.data.vocabulary import BOS_ID, EOS_ID, PAD_ID
from transformer_edu.decoding.sampling import sampling_probabilities
from transformer_edu.pretrained.stories import STORIES, TELLERS
from transformer_edu.support.validation import check_choice

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
        best = [[index, tokenizer.id_to_token(index)] for index in order[:SHOWN].tolist()]
        rounded = [round(chance, DECIMALS) for chance in chances[:SHOWN].tolist()]
        mass = float(chances[:kept].sum())
        places.append(
            {
                "best": [[*token, chance] for token, chance in zip(best, rounded, strict=True)],
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
        "read": [tokenizer.id_to_token(index) for index in read],
        "written": [[index, tokenizer.id_to_token(index)] for index in ids],
        "places": places,
    }


LARGEST_K = 40


class NextWord(ModelFigure):
    """A language model in the reader's browser: the next token's probabilities, of which one is drawn or taken.

    Args:
        beginning: what it goes on from; "" begins a text.
        temperature: from 0.1 to 2.
        top_k: from 1 to 40; None leaves all in.
        top_p: from 0.05 to 1; 1 leaves all in.
        min_p: from 0 to 0.5, a share of the largest probability; 0 leaves all in.
        seed: of the luck, from 0 to 9,999.
        place: how many of the 20 tokens that were drawn beforehand are written; the bars are those of the next.
        shipped: "stories", or "answering", the same model after chapter 21, which is asked for a story.
        model, tokenizer: a GPT of one's own, in place of a shipped one.

    Raises:
        TypeError, ValueError: one of these is something else.
    """

    figure_name: ClassVar[str] = "next-word"

    beginning = text("Once upon a time, there was a little", 0, 200)
    temperature = real(0.8, 0.1, 2.0)
    top_k = field(
        traitlets.Int(None, allow_none=True),
        None,
        lambda name, k, so: k if k is None else check_range(name, k, 1, LARGEST_K),
    )
    top_p = real(0.95, 0.05, 1.0)
    min_p = real(0.0, 0.0, 0.5)
    seed = whole(0, 0, 9_999)
    recorded = made(traitlets.Dict(), lambda so: _recorded(so))
    written = made(traitlets.List(traitlets.Int()), lambda so: [index for index, _ in so.recorded["written"]])
    place = whole(0, 0, lambda so: len(so.written))
    shipped = argument(STORIES)
    model = argument()
    tokenizer = argument()

    def alt_text(self) -> str:
        """The text so far, the likeliest next tokens, what is left in, and what was drawn."""
        place = self.recorded["places"][self.place]
        tokens = [token for _, token in self.recorded["written"]]
        so_far = self.beginning + "".join(tokens[: self.place]).replace("·", " ")
        bars = ", ".join(f"{spoken(token)} {chance:.2f}" for _, token, chance in place["best"][:4])
        drawn = ", ".join(spoken(token) for token in tokens[self.place :][:8])
        return (
            f"A text: {so_far[-150:]}. Bars for the {SHOWN} likeliest next tokens, first {bars}, and one for all "
            f"others. At temperature {self.temperature:g} and top-p {self.top_p:g}, {place['kept']} of "
            f"{self.recorded['vocab']} tokens are left in. Drawn from here, in pale: {drawn or 'nothing'}."
        )


def _recorded(so: SimpleNamespace) -> dict[str, Any]:
    check_choice("shipped", so.shipped, tuple(TELLERS))
    so.content, so.name = file_of(so.shipped, so.model, so.tokenizer, "tokenizer")
    return recorded_text(so.content, so.beginning, Settings(so.temperature, so.top_k, so.top_p, so.min_p, so.seed))

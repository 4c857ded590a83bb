"""Seconds of greedy and beam decoding on random weights, every answer forced to its full length.

Ours (with its cache), torch.nn.Transformer (which has none and recomputes) and Marian's `generate` (with its cache).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from shared.batches import random_batch
from shared.contenders import Shape, build
from shared.decoding import check_length, marian_generate, never_end, ours_beam, ours_greedy, recompute_greedy
from shared.measure import alternate, fitted_exponent, ratios
from shared.report import arguments, save, table
from torch import Tensor

BEAM = 4


@dataclass(frozen=True)
class Case:
    """What is decoded, how far, and how often it is measured."""

    shape: Shape
    sentences: int = 32
    source_length: int = 32
    length: int = 64
    lengths: tuple[int, ...] = (64, 128, 256, 512)
    rounds: int = 9
    rounds_of_lengths: int = 5

    def source(self) -> Tensor:
        """Ids (sentences, source_length), padded at the ends."""
        return random_batch(self.sentences, self.source_length, self.shape.vocab_size).source


FULL = Case(Shape(256, 3))
QUICK = Case(Shape(32, 1, vocab_size=50, max_len=32), 3, 6, 8, (4, 8), rounds=1, rounds_of_lengths=1)


def decoders(case: Case) -> dict[str, Callable[[Tensor, int], Tensor]]:
    """Every way of decoding, by name: source and length -> ids."""
    ours = never_end(build("ours", case.shape).eval())
    marian = build("Marian", case.shape)
    return {
        "ours": partial(ours_greedy, ours),
        "nn.Transformer recomputing": partial(recompute_greedy, build("nn.Transformer", case.shape)),
        "Marian": partial(marian_generate, marian),
        "ours beam": partial(ours_beam, ours, beam_size=BEAM),
        "Marian beam": partial(marian_generate, marian, beam_size=BEAM),
    }


def compare(case: Case) -> dict[str, dict[str, Any]]:
    """Median seconds of each decoder at one length, and how many times as fast we are."""
    source, ways = case.source(), decoders(case)
    for decode in ways.values():
        check_length(decode(source, case.length), source, case.length)
    seconds = alternate({name: partial(decode, source, case.length) for name, decode in ways.items()}, case.rounds)
    beam = {name.removesuffix(" beam"): value for name, value in seconds.items() if name.endswith("beam")}
    greedy = {name: value for name, value in seconds.items() if not name.endswith("beam")}
    return {
        "greedy": {"seconds": greedy, "times_as_fast": ratios(greedy)},
        "beam": {"beam_size": BEAM, "seconds": beam, "times_as_fast": ratios(beam)},
    }


def against_length(case: Case) -> dict[str, Any]:
    """Seconds of greedy decoding with both caches at several lengths, and the exponent that fits them."""
    source, ways = case.source(), decoders(case)
    tasks = {
        f"{name} {length}": partial(ways[name], source, length)
        for name in ("ours", "Marian")
        for length in case.lengths
    }
    seconds = alternate(tasks, case.rounds_of_lengths)
    return {
        name: {
            "lengths": case.lengths,
            "seconds": (of_name := [seconds[f"{name} {length}"] for length in case.lengths]),
            "exponent": round(fitted_exponent(case.lengths, of_name), 3),
        }
        for name in ("ours", "Marian")
    }


def show(results: dict[str, Any], case: Case) -> None:
    """Three tables."""
    for kind in ("greedy", "beam"):
        rows = [
            [name, seconds, results[kind]["times_as_fast"].get(name, 1.0)]
            for name, seconds in results[kind]["seconds"].items()
        ]
        title = f"Decoding, {kind}, {case.shape}, {case.sentences} sentences x {case.length} tokens"
        table(title, ["", "seconds", "ours is x times as fast"], rows)
    rows = [[name, *entry["seconds"], entry["exponent"]] for name, entry in results["against_length"].items()]
    table("Greedy, seconds against tokens", ["", *map(str, case.lengths), "exponent"], rows)


def main() -> None:
    """Measure, show, save."""
    options = arguments(__doc__).parse_args()
    torch.set_num_threads(options.threads)
    case = QUICK if options.quick else FULL
    results = {"shape": str(case.shape), "sentences": case.sentences, "source_length": case.source_length}
    results |= {"length": case.length, **compare(case), "against_length": against_length(case)}
    show(results, case)
    save("decoding_speed", results, options)


if __name__ == "__main__":
    main()

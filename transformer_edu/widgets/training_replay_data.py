"""What a training replay accepts: runs of one model, seen at the same moments."""

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from transformer_edu.support.validation import check_number, check_positive_integer, check_probability
from transformer_edu.widgets.attention_map_data import MAP_NAME, check_index, check_words

KEYS = ("seed", "source_tokens", "target_tokens", "alignment", "vocabulary", "smoothing", "held_out_sentences", "every",
        "moments", "maps", "heads", "runs")  # fmt: skip
RUN_KEYS = ("name", "losses", "rates", "moments")
MOMENT_KEYS = ("rate", "loss", "exact", "written", "p", "weights")
SCALE = 255  # the byte that stands for a weight of 1
SLACK = 4  # how far the bytes of a row may be from summing to SCALE: rounding

Table = list[list[float]]


def check_replay(given: Any) -> dict[str, Any]:
    """A recording with all that the figure needs, or such a recording's data; every list as long as it must be."""
    if not isinstance(given, Mapping):
        raise TypeError(f"replay must be a dict, as record_replay makes it, got {type(given).__name__}")
    data = given.get("data", given)
    _check_keys("replay", data, KEYS)
    source = check_words("replay['source_tokens']", data["source_tokens"])
    target = check_words("replay['target_tokens']", data["target_tokens"])
    for key in ("vocabulary", "held_out_sentences", "every", "heads"):
        check_positive_integer(f"replay[{key!r}]", data[key])
    check_probability("replay['smoothing']", data["smoothing"])
    _check_moments(data["moments"])
    for name in data["maps"] or [None]:
        if not isinstance(name, str) or not (MAP_NAME.fullmatch(name) and name.endswith("cross")):
            raise ValueError(f"replay['maps'] must be names such as 'decoder.1.cross', got {data['maps']!r}")
    for place, word in data["alignment"]:
        check_index("replay['alignment'] in the source", place, len(source))
        check_index("replay['alignment'] in the target", word, len(target))
    if not isinstance(data["runs"], Sequence) or not data["runs"]:
        raise ValueError(f"replay['runs'] must be a list of at least one run, got {data['runs']!r}")
    for number, run in enumerate(data["runs"]):
        _check_run(f"replay['runs'][{number}]", run, data)
    return {key: data[key] for key in KEYS}


def _check_keys(name: str, given: Any, keys: Sequence[str]) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} must be a dict with {', '.join(keys)}, got {given!r}"[:300])
    missing = [key for key in keys if key not in given]
    if missing:
        raise ValueError(f"{name} must have {', '.join(keys)}, got none of {', '.join(missing)}")


def _check_moments(moments: Any) -> None:
    """Steps from 0, rising, at least two."""
    for step in moments:
        check_positive_integer("replay['moments']", step, minimum=0)
    if len(moments) < 2 or moments[0] != 0 or any(a >= b for a, b in pairwise(moments)):
        raise ValueError(f"replay['moments'] must be two or more rising steps, the first one 0, got {moments!r}")


def _check_run(name: str, run: Any, data: Mapping[str, Any]) -> None:
    """Curves over the whole run, and one look for each moment."""
    _check_keys(name, run, RUN_KEYS)
    count = math.ceil(data["moments"][-1] / data["every"])
    for key, wanted in (("losses", count), ("rates", count + 1), ("moments", len(data["moments"]))):
        if len(run[key]) != wanted:
            raise ValueError(f"{name}[{key!r}] must have {wanted} entries, got {len(run[key])}")
    for key in ("losses", "rates"):
        for value in run[key]:
            check_number(f"{name}[{key!r}]", value)
    for number, moment in enumerate(run["moments"]):
        _check_look(f"{name}['moments'][{number}]", moment, data)


def _check_look(name: str, moment: Any, data: Mapping[str, Any]) -> None:
    _check_keys(name, moment, MOMENT_KEYS)
    check_number(f"{name}['loss']", moment["loss"])
    if moment["rate"] is not None:
        check_number(f"{name}['rate']", moment["rate"])
    if not all(isinstance(word, str) for word in moment["written"]):
        raise TypeError(f"{name}['written'] must be a list of words, got {moment['written']!r}")
    if len(moment["p"]) != len(data["target_tokens"]):
        raise ValueError(f"{name}['p'] must have one number for each target token, got {len(moment['p'])}")
    if not all(0 <= p <= 1 for p in (*moment["p"], moment["exact"])):
        raise ValueError(f"{name} must hold probabilities from 0 to 1, got p {moment['p']}, exact {moment['exact']}")
    for layer in range(len(data["maps"])):
        for head in range(data["heads"]):
            for row in _bytes(name, moment["weights"], data, layer, head):
                if abs(sum(row) - SCALE) > SLACK:
                    raise ValueError(f"{name}['weights'] must hold rows of bytes that sum to {SCALE}, got {list(row)}")


def _bytes(name: str, text: str, data: Mapping[str, Any], layer: int, head: int) -> list[bytes]:
    """The rows of one map."""
    q_len, k_len = len(data["target_tokens"]), len(data["source_tokens"])
    try:
        stored = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise ValueError(f"{name}['weights'] must be bytes in base64, got {text!r}"[:200]) from error
    if len(stored) != len(data["maps"]) * data["heads"] * q_len * k_len:
        raise ValueError(
            f"{name}['weights'] must be a byte for each of {len(data['maps'])} layers, {data['heads']} heads, "
            f"{q_len} target and {k_len} source tokens, got {len(stored)}"
        )
    start = (layer * data["heads"] + head) * q_len
    return [stored[row * k_len : (row + 1) * k_len] for row in range(start, start + q_len)]


def weights_at(data: Mapping[str, Any], run: int, moment: int, layer: int, head: int) -> Table:
    """Cross-attention weights (target tokens, source tokens) of one head, to 1/255."""
    rows = _bytes("moment", data["runs"][run]["moments"][moment]["weights"], data, layer, head)
    return [[value / SCALE for value in row] for row in rows]


def best_head(data: Mapping[str, Any], run: int, layer: int) -> int:
    """The head that at the end of a run looks most where the alignment of the two sentences points."""
    last = len(data["moments"]) - 1
    found = [weights_at(data, run, last, layer, head) for head in range(data["heads"])]
    return max(range(data["heads"]), key=lambda head: sum(found[head][j][i] for i, j in data["alignment"]))


def turning_point(data: Mapping[str, Any], run: int) -> int:
    """The last moment before the run first writes the right sentence; its last moment if it never does."""
    right = [moment["written"] == data["target_tokens"] for moment in data["runs"][run]["moments"]]
    return max(right.index(True) - 1, 0) if any(right) else len(right) - 1

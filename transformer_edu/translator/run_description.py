"""What a run is: its settings, the content of its texts, its subwords. Two runs of one description take equal steps."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from transformer_edu.data.multi30k import digest
from transformer_edu.data.parallel import TextPair
from transformer_edu.data.tokenizer import Subwords
from transformer_edu.translator.settings import TrainingSettings

FORMAT = "transformer_edu.run/1"


def describe(settings: TrainingSettings, texts: Mapping[str, Sequence[TextPair]], subwords: Subwords) -> dict[str, Any]:
    """Everything that decides what a run computes; of a text the content, not where it lies.

    Args:
        settings: of the run.
        texts: sentence pairs by the name of their split.
        subwords: what they are cut into.
    """
    description: dict[str, Any] = {"format": FORMAT, "settings": settings.course()}
    for split, pairs in texts.items():
        sides = {side: digest([pair[number] for pair in pairs]) for number, side in enumerate(("source", "target"))}
        description[split] = {"pairs": len(pairs), **{f"{side}_sha256": found for side, found in sides.items()}}
    description["tokenizer"] = {"pieces": len(subwords), "sha256": digest([subwords.to_json()])}
    return description


def identity(description: Mapping[str, Any]) -> str:
    """A name for the run that follows from its description; every file of its folder carries it."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:32]


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What two descriptions differ in, with both values."""
    old, new = _flat(then), _flat(now)
    names = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    return [f"{name}: {_shown(old.get(name))} then, {_shown(new.get(name))} now" for name in names]


def _flat(description: Mapping[str, Any]) -> dict[str, Any]:
    """{"settings": {"seed": 0}, "train": {"pairs": 9}} as {"seed": 0, "train pairs": 9}."""
    flat: dict[str, Any] = {}
    for part, content in description.items():
        prefix = "" if part == "settings" else f"{part} "
        inner = content if isinstance(content, dict) else {"": content}
        flat |= {f"{prefix}{name}".strip(): value for name, value in inner.items()}
    return flat


def _shown(value: Any) -> str:
    return f"{value[:12]}…" if isinstance(value, str) and len(value) == 64 else repr(value)

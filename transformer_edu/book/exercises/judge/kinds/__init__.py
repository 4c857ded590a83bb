"""The kinds of components that can be judged, by name."""

from transformer_edu.book.exercises.judge.kind import Kind
from transformer_edu.book.exercises.judge.kinds import (
    attention,
    attention_since,
    decoder_only,
    learning,
    machine,
    modern,
    parts,
)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for module in (parts, attention, machine, decoder_only, attention_since, modern, learning)
    for kind in module.KINDS
}

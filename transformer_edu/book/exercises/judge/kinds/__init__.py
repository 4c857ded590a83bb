"""The kinds of components that can be judged, by name."""

from transformer_edu.book.exercises.judge.kind import Kind
from transformer_edu.book.exercises.judge.kinds import attention, decoder_only, learning, machine, modern, parts

KINDS: dict[str, Kind] = {
    one.name: one for module in (parts, attention, machine, decoder_only, modern, learning) for one in module.KINDS
}

"""The kinds of components that can be judged, by name."""

from transformer_edu.book.exercises.judge.kind import Kind
from transformer_edu.book.exercises.judge.kinds import attention, learning, machine, parts

KINDS: dict[str, Kind] = {one.name: one for module in (parts, attention, machine, learning) for one in module.KINDS}

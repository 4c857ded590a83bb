"""The kinds of components that can be judged, by name."""

from transformer_edu.judge.kind import Kind
from transformer_edu.judge.kinds import attention, learning, machine, parts

KINDS: dict[str, Kind] = {one.name: one for module in (parts, attention, machine, learning) for one in module.KINDS}

"""What a sandbox and the process inside it say to each other, as bytes.

To the child: a line of JSON with the token, the limits and the parent's number, then the payload; in a conversation
then questions, each behind eight bytes of its length. From the child: `token +` once it is locked down, then for each
answer `token`, eight bytes of length, the answer, and nothing else. What comes before (a library that greets) is not
listened to.
"""

import json
from dataclasses import asdict, dataclass
from io import BufferedIOBase
from typing import Any

from transformer_edu.book.sandbox.limits import Limits

AROUND = 4096  # room for what stands around an answer
LENGTH = 8  # bytes of a length


@dataclass(frozen=True)
class Order:
    """What the child is told."""

    token: str
    limits: Limits
    parent: int  # its process number
    payload: bytes


def pack_order(order: Order) -> bytes:
    """The order as the child reads it."""
    head = {
        "token": order.token,
        "limits": asdict(order.limits),
        "parent": order.parent,
        "length": len(order.payload),
    }
    return json.dumps(head).encode() + b"\n" + order.payload


def read_order(stream: BufferedIOBase) -> Order:
    """The order, which comes first.

    Raises:
        EOFError: not all of it came.
    """
    line = stream.readline()
    head: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {"length": -1}
    payload = stream.read(max(head["length"], 0))
    if head["length"] != len(payload):
        raise EOFError("the payload did not come whole")
    return Order(head["token"], Limits(**head["limits"]), head["parent"], payload)


def measured(data: bytes) -> bytes:
    """A question as the child reads it."""
    return len(data).to_bytes(LENGTH, "big") + data


def read_question(stream: BufferedIOBase) -> bytes:
    """The next question.

    Raises:
        EOFError: none comes any more.
    """
    head = stream.read(LENGTH)
    data = stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH else b""
    if len(head) < LENGTH or len(data) != int.from_bytes(head, "big"):
        raise EOFError("no question came")
    return data


def ready(token: str) -> bytes:
    """What the child says when it is locked down."""
    return token.encode() + b"+"


def frame(token: str, answer: bytes) -> bytes:
    """The answer as the parent reads it."""
    return token.encode() + measured(answer)


def unframe(token: str, stream: bytes) -> tuple[bytes, bytes] | None:
    """The first answer in all that came from the child, and what came behind it; None if it gave none.

    Raises:
        ValueError: something else was written there, or not all of an answer; says so in one sentence.
    """
    rest = stream.partition(ready(token))[2]
    if not rest:
        return None
    if not rest.startswith(token.encode()):
        raise ValueError("wrote something of its own to the channel of the answer")
    start = len(token) + LENGTH
    end = start + int.from_bytes(rest[len(token) : start], "big")
    if len(rest) < end or len(rest) < start:
        raise ValueError("answered twice, or not whole")
    return rest[start:end], rest[end:]

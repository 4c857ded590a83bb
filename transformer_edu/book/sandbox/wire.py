"""What a sandbox and the process inside it say to each other, as bytes.

To the child: a line of JSON with the token, the limits and the parent's number, then the payload. From the child:
`token +` once it is locked down, then `token`, eight bytes of length, the answer, and nothing else. What comes before
(a library that greets) is not listened to.
"""

import json
from dataclasses import asdict, dataclass

from transformer_edu.book.sandbox.limits import Limits

AROUND = 4096  # room for what stands around an answer


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


def unpack_order(data: bytes) -> Order:
    """The order from what came.

    Raises:
        EOFError: not all of it came.
    """
    line, end, payload = data.partition(b"\n")
    head = json.loads(line) if end else {}
    if head.get("length") != len(payload):
        raise EOFError("the payload did not come whole")
    return Order(head["token"], Limits(**head["limits"]), head["parent"], payload)


def ready(token: str) -> bytes:
    """What the child says when it is locked down."""
    return token.encode() + b"+"


def frame(token: str, answer: bytes) -> bytes:
    """The answer as the parent reads it."""
    return token.encode() + len(answer).to_bytes(8, "big") + answer


def unframe(token: str, stream: bytes) -> bytes | None:
    """The one answer in all that came from the child; None if it gave none.

    Raises:
        ValueError: something else, or something more, was written there; says so in one sentence.
    """
    rest = stream.partition(ready(token))[2]
    if not rest:
        return None
    if not rest.startswith(token.encode()):
        raise ValueError("wrote something of its own to the channel of the answer")
    start = len(token) + 8
    end = start + int.from_bytes(rest[len(token) : start], "big")
    if len(rest) != end:
        raise ValueError("answered twice, or not whole")
    return rest[start:end]

"""JSON to structs, whatever bytes users put into it, without holding up the rest of the process.

Slurm passes on what users call their jobs byte for byte, so an answer may not be UTF-8. And msgspec keeps
the interpreter to itself for a whole decode, so a thread alone does not keep the event loop free: a long list
is decoded some items at a time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, TypeVar, cast

import msgspec

T = TypeVar("T")

_PIECE: Final = 1 << 20
# The outermost object starts with a list of objects, which all start with the same key.
_LIST_START: Final = re.compile(rb'\s*\{\s*"([a-z_]+)":\s*\[(\s*)(\{\s*"[a-z_]+":)')


def decode(body: bytes | bytearray | memoryview, kind: type[T]) -> T:
    """Raises msgspec.DecodeError or RecursionError."""
    decoder: msgspec.json.Decoder[T] = _decoder(cast("Any", kind))  # mypy: a type variable is not hashable
    try:
        return decoder.decode(body)
    except UnicodeDecodeError:
        return decoder.decode(bytes(body).decode(errors="replace").encode())


def decode_items(body: bytearray, key: str, items: type[tuple[T, ...]]) -> tuple[list[T], bytearray]:
    """The first items of the long list under `key`, if it comes first, and the body without them.

    What separates two items cannot occur within a string, where its quotes would be escaped. It may occur in
    a list within an item; then a piece is not JSON and raises msgspec.DecodeError.
    """
    found: list[T] = []
    start = _LIST_START.match(body)
    if start is None or start[1] != key.encode():
        return found, body
    joint = b"}," + start[2] + start[3]
    begin = position = start.start(3)
    while (cut := body.find(joint, position + _PIECE)) >= 0:
        found += _decode_part(body, position - 1, cut + 1, items)
        position = cut + len(joint) - len(start[3])
    return found, body[:begin] + body[position:]


def _decode_part(body: bytearray, before: int, after: int, items: type[tuple[T, ...]]) -> tuple[T, ...]:
    """What stands between two places of the body, which are brackets meanwhile.

    In place, because the memory for a copy costs as much time as the decoding.
    """
    were = body[before], body[after]
    body[before], body[after] = b"[]"
    try:
        with memoryview(body) as whole, whole[before : after + 1] as part:
            return decode(part, items)
    finally:
        body[before], body[after] = were


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)

"""The watch stream: JSON events, one to a line, cut from the bytes as they come.

The lines are split here because aiohttp's own line reader refuses long ones, and a pod can be long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from slurmery.kube.errors import AnswerError, Status, from_status

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
BOOKMARK = "BOOKMARK"
ERROR = "ERROR"


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """What happened to which object; the object is still JSON, for its reader to decode."""

    type: str
    object: msgspec.Raw


_decode = msgspec.json.Decoder(WatchEvent).decode


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
    """The events in a stream. An ERROR event is raised as the error it describes."""
    async for line in lines(chunks):
        try:
            event = _decode(line)
            if event.type == ERROR:
                raise from_status(msgspec.json.decode(event.object, type=Status))
        except msgspec.DecodeError as error:
            raise AnswerError(f"the watch brought something that is not an event: {error}") from error
        yield event


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines. Half a line at the end is dropped: its event comes again with the next watch."""
    begun: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join((*begun, whole[0]))
            begun.clear()
            for line in filter(None, whole):
                yield line
        if rest:
            begun.append(rest)

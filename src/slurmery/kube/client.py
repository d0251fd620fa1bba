"""The only code that talks to the API server.

Every call has a deadline. Within it, what is safe to repeat is repeated with a jittered back-off: a
429 with its Retry-After honoured, and for reads a 5xx or a broken connection. Everything else is
raised at once: the work queue is the retry of a controller.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

import msgspec

from slurmery import __version__
from slurmery.kube import watch
from slurmery.kube.backoff import Backoff
from slurmery.kube.config import Config
from slurmery.kube.errors import (
    AnswerError,
    GoneError,
    KubeError,
    NoAnswerError,
    ServerError,
    TooManyRequestsError,
)
from slurmery.kube.meta import Key, Manifest, Resource, Selection, key_of
from slurmery.kube.transport import JSON, Call, Observe, Transport, unfenced, unobserved
from slurmery.kube.watch import WatchEvent

MANAGER = "slurmery"
DEADLINE_SECONDS = 30.0
# Decoding holds the interpreter, in a thread too: a page is what may block the loop at once.
PAGE_SIZE = 500
CALLS_IN_FLIGHT = 32
APPLY_TYPE = "application/apply-patch+yaml"
PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"

T = TypeVar("T")
Object = dict[str, Any]
Propagation = Literal["Foreground", "Background", "Orphan"]
Undecodable = Callable[[msgspec.Raw, msgspec.ValidationError], None]


@dataclass(frozen=True)
class Listing(Generic[T]):
    """All objects of a selection as they were at one resourceVersion."""

    items: list[T]
    resource_version: str


class _PageMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(name="continue", default=None)


class _Page(msgspec.Struct, Generic[T]):
    metadata: _PageMeta
    items: list[T] | None = None


class Client:
    """REST verbs, for plain manifests and for views. Use as an async context manager."""

    def __init__(
        self,
        config: Config,
        *,
        user_agent: str = f"slurmery/{__version__}",
        deadline: float = DEADLINE_SECONDS,
        observe: Observe = unobserved,
        fence: Callable[[], None] = unfenced,
    ) -> None:
        self.config = config
        self._deadline = deadline
        self._transport = Transport(config, user_agent=user_agent, observe=observe, fence=fence)
        self._slots = asyncio.Semaphore(CALLS_IN_FLIGHT)

    async def __aenter__(self) -> Client:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.__aexit__()

    @overload
    async def get(self, resource: Resource, key: Key, *, subresource: str | None = None) -> Object: ...
    @overload
    async def get(
        self, resource: Resource, key: Key, *, subresource: str | None = None, as_: type[T]
    ) -> T: ...
    async def get(
        self, resource: Resource, key: Key, *, subresource: str | None = None, as_: type[Any] = dict
    ) -> Any:
        """One object, or a subresource such as its scale. Raises NotFoundError."""
        call = Call("GET", resource.path(*key, subresource), resource=resource.plural)
        return _decode(await self._call(call), as_)

    @overload
    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Listing[Object]: ...
    @overload
    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        as_: type[T],
    ) -> Listing[T]: ...
    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        as_: type[Any] = dict,
    ) -> Listing[Any]:
        """A consistent list, fetched in pages."""
        return await self.fetch(Selection(resource, namespace, label_selector, field_selector), as_)

    async def fetch(
        self, selection: Selection, as_: type[T], *, undecodable: Undecodable | None = None
    ) -> Listing[T]:
        """What `list` does, for a selection.

        An object that does not fit `as_` is handed to `undecodable` and left out; without one it is an error.
        """
        call = Call(
            "GET",
            selection.path,
            selection.params,
            accept=_PARTIAL.format("List") if selection.metadata_only else JSON,
            resource=selection.resource.plural,
        )
        try:
            return await self._pages(call, as_, undecodable, limit=PAGE_SIZE)
        except GoneError:
            # The etcd snapshot that the pages are cut from was compacted: fetch all of it at once.
            return await self._pages(call, as_, undecodable, limit=0)

    async def create(self, resource: Resource, manifest: Manifest) -> Object:
        """A new object. Raises AlreadyExistsError."""
        path = resource.path(manifest.get("metadata", {}).get("namespace"))
        return await self._write(Call("POST", path, body=_encode(manifest), resource=resource.plural))

    async def replace(
        self, resource: Resource, manifest: Manifest, *, subresource: str | None = None
    ) -> Object:
        """The whole object anew; raises ConflictError unless its resourceVersion is still the latest."""
        path = resource.path(*key_of(manifest), subresource)
        return await self._write(Call("PUT", path, body=_encode(manifest), resource=resource.plural))

    async def apply(  # noqa: PLR0913 - server-side apply has that many switches
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        manager: str = MANAGER,
        force: bool = True,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: the manifest holds all fields that the manager wants to own, and no others."""
        params = {"fieldManager": manager, "force": "true" if force else "false"}
        if dry_run:
            params["dryRun"] = "All"
        path = resource.path(*key_of(manifest), subresource)
        return await self._write(
            Call("PATCH", path, params, _encode(manifest), APPLY_TYPE, resource=resource.plural)
        )

    async def patch(
        self,
        resource: Resource,
        key: Key,
        patch: Manifest | Sequence[Object],
        *,
        kind: Literal["merge", "json", "strategic"] = "merge",
        subresource: str | None = None,
    ) -> Object:
        """Some fields of an object; a JSON patch is a list of operations."""
        call = Call(
            "PATCH",
            resource.path(*key, subresource),
            body=_encode(patch),
            content_type=PATCH_TYPES[kind],
            resource=resource.plural,
        )
        return await self._write(call)

    async def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        uid: str | None = None,
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Ask for deletion. With `uid`, only of that very object: a namesake raises ConflictError."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if propagation:
            options["propagationPolicy"] = propagation
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        call = Call("DELETE", resource.path(*key), body=_encode(options), resource=resource.plural)
        await self._call(call)

    async def watch(
        self,
        selection: Selection,
        *,
        resource_version: str | None,
        seconds: float,
        silence: float,
        initial_events: bool = False,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after a resourceVersion, until the server ends the stream after about `seconds`.

        With `initial_events` the present objects come first, closed by a bookmark. A stream that brings
        nothing for `silence` seconds raises NoAnswerError. Starting it is not retried.
        """
        params = {
            **selection.params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        if resource_version:
            params["resourceVersion"] = resource_version
        if initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        call = Call(
            "GET",
            selection.path,
            params,
            accept=_PARTIAL.format("") if selection.metadata_only else JSON,
            resource=selection.resource.plural,
        )
        async with self._transport.exchange(call, silence=silence) as response:
            async for event in watch.events(response.content.iter_any()):
                yield event

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: object = None
    ) -> bytes:
        """Anything else that the server offers by path, such as /version or discovery."""
        return await self._call(Call(method, path, params or {}, None if body is None else _encode(body)))

    async def _write(self, call: Call) -> Object:
        return _decode(await self._call(call), Object)

    async def _pages(
        self, call: Call, as_: type[T], undecodable: Undecodable | None, *, limit: int
    ) -> Listing[T]:
        items: list[T] = []
        params = {**call.params, "limit": str(limit)}
        while True:
            body = await self._call(dataclasses.replace(call, params=params))
            page = _decode_page(body, as_, undecodable)
            items += page.items or ()
            if not page.metadata.continue_:
                return Listing(items, page.metadata.resource_version)
            params["continue"] = page.metadata.continue_

    async def _call(self, call: Call) -> bytes:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._deadline
        backoff = Backoff(0.1, 5.0)
        while True:
            try:
                async with (
                    self._slots,
                    self._transport.exchange(call, total=max(0.001, deadline - loop.time())) as response,
                ):
                    return await response.read()
            except KubeError as error:
                delay = _delay(call, error, backoff)
                if delay is None or loop.time() + delay >= deadline:
                    raise
            await asyncio.sleep(delay)


def _delay(call: Call, error: KubeError, backoff: Backoff) -> float | None:
    """How long to wait before the same call may go out again; None if it must not."""
    read = call.method == "GET"
    match error:
        # Without Retry-After it is no throttling but, say, a disruption budget that refuses an eviction.
        case TooManyRequestsError() if read or error.retry_after is not None:
            return max(error.retry_after or 0.0, backoff.next())
        case ServerError() if read:
            return max(error.retry_after or 0.0, backoff.next())
        case NoAnswerError() if read:
            return backoff.next()
    return None


def _decode(body: bytes, as_: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=as_)
    except msgspec.DecodeError as error:
        raise AnswerError(f"the API server's answer cannot be read: {error}") from error


_encode = msgspec.json.Encoder().encode


def _decode_page(body: bytes, as_: type[T], undecodable: Undecodable | None) -> _Page[T]:
    try:
        return msgspec.json.decode(body, type=_Page[as_])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        if undecodable is None:
            raise AnswerError(f"the API server's list cannot be read: {error}") from error
    except msgspec.DecodeError as error:
        raise AnswerError(f"the API server's list is not JSON: {error}") from error
    # One bad object must not hide the others.
    raw = _decode(body, _Page[msgspec.Raw])
    items: list[T] = []
    for item in raw.items or ():
        try:
            items.append(msgspec.json.decode(item, type=as_))
        except msgspec.ValidationError as error:
            undecodable(item, error)
    return _Page(raw.metadata, items)

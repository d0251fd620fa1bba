"""Powering nodes: `activeNodes` of NodeSetPowerStates is written, the operator does the rest.

    resume, suspend            the nodes are in activeNodes, or are not; saying it twice changes nothing
    wait_added, wait_removed   the operator says that their pods run, or are gone

Others write at the same time: each write says what it was made from, and is made again if that was old.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from slurmery.kube.client import Client
from slurmery.kube.errors import ConflictError
from slurmery.kube.meta import Key
from slurmery.nebius.kinds import POWER_STATES

_PAUSE: Final = 0.2
_LOOK_SECONDS: Final = 1.0
_RUNNING: Final = "Running"

Nodes = Mapping[str, frozenset[int]]


class Power:
    """The power states of one namespace. A NodeSet that has none raises NotFoundError."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def resume(self, nodes: Nodes) -> None:
        """Have the nodes on."""
        for nodeset, ordinals in nodes.items():
            await self._change(nodeset, ordinals.union)

    async def suspend(self, nodes: Nodes) -> None:
        """Have the nodes off; the operator takes none away that has jobs."""
        for nodeset, ordinals in nodes.items():
            await self._change(nodeset, partial(_without, ordinals))

    async def wait_added(self, nodes: Nodes) -> None:
        """Until the pods of all nodes run."""
        await self._wait(nodes, lambda states, wanted: all(_runs(states, each) for each in wanted))

    async def wait_removed(self, nodes: Nodes) -> None:
        """Until no node has a pod."""
        await self._wait(nodes, lambda states, gone: not any(str(each) in states for each in gone))

    async def _change(self, nodeset: str, change: Callable[[frozenset[int]], frozenset[int]]) -> None:
        while True:
            state = await self._state(nodeset)
            before = frozenset(state["spec"].get("activeNodes") or ())
            after = change(before)
            if after == before:
                return
            patch = {
                "metadata": {"resourceVersion": state["metadata"]["resourceVersion"]},
                "spec": {"activeNodes": sorted(after)},
            }
            try:
                await self._client.patch(POWER_STATES, Key(self._namespace, nodeset), patch)
            except ConflictError:
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def _wait(self, nodes: Nodes, done: Callable[[Mapping[str, Any], Collection[int]], bool]) -> None:
        for nodeset, ordinals in nodes.items():
            while not done(await self._states(nodeset), ordinals):  # noqa: ASYNC110 - others do it
                await asyncio.sleep(_LOOK_SECONDS)

    async def _states(self, nodeset: str) -> Mapping[str, Any]:
        state = await self._state(nodeset)
        return (state.get("status") or {}).get("nodeStates") or {}

    async def _state(self, nodeset: str) -> Mapping[str, Any]:
        return await self._client.get(POWER_STATES, Key(self._namespace, nodeset))


def _without(gone: frozenset[int], active: frozenset[int]) -> frozenset[int]:
    return active - gone


def _runs(states: Mapping[str, Any], ordinal: int) -> bool:
    return bool(states.get(str(ordinal), {}).get("phase") == _RUNNING)

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
from slurmery.kube.errors import ApiError, ConflictError
from slurmery.kube.meta import Key
from slurmery.nebius.kinds import POWER_STATES

_PAUSE: Final = 0.2
_LOOK_SECONDS: Final = 1.0
_RUNNING: Final = "Running"

Nodes = Mapping[str, frozenset[int]]
Change = Callable[[frozenset[int]], frozenset[int]]


class Power:
    """The power states of one namespace. A NodeSet that has none raises NotFoundError."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def resume(self, nodes: Nodes) -> None:
        """Have the nodes on."""
        await self._changes({nodeset: ordinals.union for nodeset, ordinals in nodes.items()})

    async def suspend(self, nodes: Nodes) -> None:
        """Have the nodes off; the operator takes none away that has jobs."""
        await self._changes({nodeset: partial(_without, ordinals) for nodeset, ordinals in nodes.items()})

    async def wait_added(self, nodes: Nodes) -> None:
        """Until the pods of all nodes run."""
        await self._wait(nodes, lambda states, wanted: all(_runs(states, each) for each in wanted))

    async def wait_removed(self, nodes: Nodes) -> None:
        """Until no node has a pod."""
        await self._wait(nodes, lambda states, gone: not any(str(each) in states for each in gone))

    async def _changes(self, changes: Mapping[str, Change]) -> None:
        """All of them, and only then the first refusal: Slurm names static nodes beside ephemeral ones."""
        refusals = []
        for nodeset, change in changes.items():
            try:
                await self._change(nodeset, change)
            except ApiError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    async def _change(self, nodeset: str, change: Change) -> None:
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

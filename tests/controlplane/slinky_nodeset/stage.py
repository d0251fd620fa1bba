"""One namespace with a NodeSet, our operator for NodeSets alone, and a Slurm that says what it is told to.

Nobody runs the pods: the tests say how they are. The slurmrestd here knows nodes, jobs and reservations
as far as it was told of them, so that nodes can be busy, drained, forgotten or silent at will.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from dev.controlplane import ControlPlane
from slurmery.doors.contents import Contents
from slurmery.doors.report import Reporter
from slurmery.kube import config
from slurmery.kube.apply import Applier
from slurmery.kube.client import Client
from slurmery.kube.controller import Controller as Workers
from slurmery.kube.controller import not_only_status, unreported
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, Resource
from slurmery.kube.observed import Cached
from slurmery.kube.resources import CONTROLLER_REVISIONS, NODES, PODS, SECRETS
from slurmery.kube.runtime import Listen, Runtime, Wing
from slurmery.slinky import names
from slurmery.slinky.caches import Caches
from slurmery.slinky.kinds import CONTROLLERS, NODE_SETS, REST_APIS
from slurmery.slinky.links import Links
from slurmery.slinky.nodeset.fleet import Fleet
from slurmery.slinky.nodeset.reconcile import Reconcile
from slurmery.slinky.world import World
from slurmery.slurm.snapshot import Part

T = TypeVar("T")
Object = dict[str, Any]

OPERATOR = "the NodeSet operator under test"
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
REF = {"controllerRef": {"name": "slurm"}}
BINDINGS = Resource("", "v1", "bindings", "Binding")
KEYS_OF_HOSTS = {
    "topology": names.TOPOLOGY_SPEC,
    "features": names.FEATURES_SPEC,
    "reason": names.NODE_CORDON_REASON,
}
_FOLLOWED = (Part.NODES, Part.JOBS, Part.RESERVATIONS)
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@dataclass
class Slurm:
    """Nodes by name: their states and their reason. While it is `silent`, it answers nothing."""

    nodes: dict[str, Object] = field(default_factory=dict)
    jobs: list[Object] = field(default_factory=list)
    reservations: dict[str, Object] = field(default_factory=dict)
    writes: list[tuple[str, str]] = field(default_factory=list)
    silent: bool = False
    url: str = ""

    def says(self, name: str, *state: str, reason: str = "", **facts: Any) -> None:
        known = self.nodes.get(name, {})
        self.nodes[name] = {**known, "name": name, "state": list(state), "reason": reason, **facts}

    def reason(self, name: str) -> str:
        return str(self.nodes[name]["reason"])

    def drained(self, name: str) -> bool:
        return "DRAIN" in self.nodes[name]["state"]

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        """Serve at `url`."""
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield self
        server.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (line for line in head.split("\r\n") if line.lower().startswith("content-length")), ":0"
        )
        body = await reader.readexactly(int(length.partition(":")[2]))
        self._called(head)
        if not self.silent:
            method, target, _ = head.partition("\r\n")[0].split(" ")
            answer = json.dumps(self._answer(method, target.partition("?")[0], body)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                % len(answer)
                + answer
            )
            await writer.drain()
        writer.close()

    def _called(self, head: str) -> None:
        """For those who want to know who asks."""

    def _answer(self, method: str, path: str, body: bytes) -> Object:
        kind, name = path.split("/")[3], path.rpartition("/")[2]
        errors: list[Object] = []
        if method != "GET":
            self.writes.append((kind, name))
            errors = self._write(method, kind, name, json.loads(body) if body else {})
        now = {"set": True, "infinite": False, "number": int(time.time())}
        lists = {
            "nodes": [each for each in self.nodes.values() if kind != "node" or each["name"] == name],
            "jobs": self.jobs,
            "reservations": list(self.reservations.values()),
            "pings": [],
        }
        return {"errors": errors, "warnings": [], "last_update": now, **lists}

    def _write(self, method: str, kind: str, name: str, body: Object) -> list[Object]:
        if method == "DELETE":
            (self.reservations if kind == "reservation" else self.nodes).pop(name, None)
        elif kind == "reservation":
            self._reserve(body)
        elif body.get("topology_str", "").startswith("bad"):
            return [
                {"error_number": 2178, "description": "Requested topology configuration is not available"}
            ]
        else:
            self._update(name, body)
        return []

    def _reserve(self, body: Object) -> None:
        made = self.reservations.setdefault(body["name"], {"name": body["name"]})
        if "start_time" in body:
            start = body["start_time"]["number"]
            made |= {"start_time": start, "end_time": start + body["duration"]["number"] * 60}
        made["node_list"] = ",".join(body["node_list"])
        if "flags" in body:
            made |= {"flags": [*body["flags"], "SPEC_NODES"], "users": ",".join(body["users"])}

    def _update(self, name: str, update: Object) -> None:
        node = self.nodes[name]
        read_as = {"comment": "comment", "features": "features", "features_act": "active_features"}
        read_as |= {"topology_str": "topology"}
        node |= {read_as[key]: value for key, value in update.items() if key in read_as}
        if "state" in update:
            states = [state for state in node["state"] if state not in ("DRAIN", "DOWN")]
            states = states or ["IDLE"]
            drain = "DRAIN" in update["state"]
            reason = str(update.get("reason", node["reason"])) if drain else ""
            self.says(name, *states, *(["DRAIN"] if drain else []), reason=reason)


class Stage:
    """One namespace of one control plane."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str, slurm: Slurm) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self.slurm = slurm
        self._read = 0

    async def cluster(self, *, restapi: bool = True) -> None:
        """A Controller and, unless said otherwise, a way to its Slurm."""
        keys = {"slurm.key": "a2V5", "jwt.key": "a2V5"}
        await self.client.create(SECRETS, {**self._head(SECRETS, "keys"), "data": keys})
        await self.create(CONTROLLERS, "slurm", {**KEYS, "slurmctld": {"image": "slurmctld"}})
        if restapi:
            await self.create(REST_APIS, "slurm", {**REF, "slurmrestd": {"image": "slurmrestd"}})

    async def nodeset(self, replicas: int, **spec: Any) -> None:
        base = {**REF, "slurmd": {"image": "slurmd"}, "logfile": {"image": "alpine"}}
        await self.create(NODE_SETS, "gpu", {**base, "replicas": replicas, **spec})

    async def create(self, resource: Resource, name: str, spec: Mapping[str, Any]) -> None:
        await self.client.create(resource, {**self._head(resource, name), "spec": spec})

    async def get(self, resource: Resource, name: str) -> Object | None:
        try:
            return await self.client.get(resource, Key(self.namespace, name))
        except NotFoundError:
            return None

    async def patch(self, resource: Resource, name: str, patch: Mapping[str, Any]) -> None:
        await self.client.patch(resource, Key(self.namespace, name), patch)

    async def change(self, **spec: Any) -> None:
        await self.patch(NODE_SETS, "gpu", {"spec": spec})

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, Key(self.namespace, name))

    async def delete_pod(self, name: str) -> None:
        """At once; pods that never were on a node need no more than that."""
        with suppress(NotFoundError):
            await self.client.delete(PODS, Key(self.namespace, name), grace_seconds=0)

    async def pods(self) -> dict[str, Object]:
        found = (await self.client.list(PODS, self.namespace)).items
        return {pod["metadata"]["name"]: pod for pod in found}

    async def there(self, *names: str) -> dict[str, Object]:
        """Wait until these pods are there, and no others."""

        async def look() -> dict[str, Object] | None:
            pods = await self.pods()
            return pods if set(pods) == set(names) else None

        return await until(look) if names else {}

    async def gone(self, resource: Resource, name: str) -> None:
        async def look() -> bool:
            return await self.get(resource, name) is None

        await until(look)

    async def gone_or_new(self, resource: Resource, name: str, uid: str) -> None:
        """Wait until there is another one by this name, or none."""

        async def look() -> bool:
            found = await self.get(resource, name)
            return found is None or found["metadata"]["uid"] != uid

        await until(look)

    async def run(self, *names: str) -> None:
        """Let pods be ready, and their nodes idle in Slurm."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
        for name in names:
            self.slurm.says(name, "IDLE")
            await self.client.patch(
                PODS,
                Key(self.namespace, name),
                {"status": {"phase": "Running", "conditions": [ready]}},
                kind="strategic",
                subresource="status",
            )

    async def host(self, name: str, **annotations: str) -> str:
        """A Kubernetes node of this test's own, with annotations of ours; its name."""
        name = f"{self.namespace}-{name}"
        metadata = {
            "name": name,
            "annotations": {KEYS_OF_HOSTS[key]: text for key, text in annotations.items()},
        }
        await self.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
        return name

    async def bind(self, pod: str, host: str) -> None:
        """Put a pod on a Kubernetes node, as the scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": host}
        await self.client.create(BINDINGS, {**self._head(BINDINGS, pod), "target": target})

    async def says(self, kind: str, status: str, words: str = "") -> Object:
        """Wait for a condition of the NodeSet."""

        async def look() -> Object | None:
            found = await self.get(NODE_SETS, "gpu") or {}
            for each in found.get("status", {}).get("conditions", ()):
                if (each["type"], each["status"]) == (kind, status) and words in each["message"]:
                    return dict(each)
            return None

        return await until(look)

    async def history(self, *numbers: int) -> None:
        """Wait until these are the numbers of the revisions."""

        async def look() -> bool:
            found = (await self.client.list(CONTROLLER_REVISIONS, self.namespace)).items
            return sorted(each["revision"] for each in found) == list(numbers)

        await until(look)

    def writes(self) -> list[tuple[str, str, str]]:
        """What our operator wrote since the last call: verb, resource and name."""
        requests = [
            (event["verb"], event["objectRef"]["resource"], event["objectRef"].get("name", ""))
            for event in map(json.loads, self.plane.audit_log.read_text().splitlines())
            if event.get("userAgent") == OPERATOR
            and event.get("objectRef", {}).get("namespace") == self.namespace
        ]
        fresh, self._read = requests[self._read :], len(requests)
        return [request for request in fresh if request[0] in WRITES]

    def _head(self, resource: Resource, name: str) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


class Operator:
    """Our operator in this event loop; it can be killed and started again at any time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def kill(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    async def _run(self) -> None:
        stage = self._stage
        namespaces = (stage.namespace,)
        async with Client(config.load(stage.plane.kubeconfig), user_agent=OPERATOR) as client:
            runtime = Runtime(client, "test", Listen())
            wing = Wing(runtime, CONTROLLERS)
            caches = Caches(wing, namespaces)
            fleet = Fleet(wing, caches, namespaces)
            world = World(caches, Contents(client, caches.metadata), "cluster.local")
            links = Links(world, lambda _: stage.slurm.url, dict.fromkeys(_FOLLOWED, 0.6))
            informers = [one for cache in caches.owned.values() for one in cache.informers]
            applier = Applier(client, Cached(client, informers), runtime.discovery)
            reporter = Reporter(client, runtime.recorder("test"), NODE_SETS)
            reconcile = Reconcile(client, world, links, fleet, applier=applier, reporter=reporter)
            workers = Workers("nodeset", reconcile, unreported)
            caches.custom[NODE_SETS].wakes(workers, relevant=not_only_status)
            caches.custom[CONTROLLERS].wakes(workers, lambda view: [Key(view.metadata.namespace, "gpu")])
            fleet.wakes(workers)
            links.changed.append(lambda key: workers.queue.add(Key(key.namespace, "gpu")))
            runtime.add(workers)
            try:
                await runtime.run()
            finally:
                await links.clusters.close()


async def until(condition: Callable[[], Awaitable[T | None]], seconds: float = 30) -> T:
    """Wait for something that the world brings about in its own time."""
    async with asyncio.timeout(seconds):
        while not (answer := await condition()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return answer

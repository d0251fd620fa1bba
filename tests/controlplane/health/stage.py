"""One SlurmCluster whose workers stand on nodes of the test's own, and the program that repairs these.

Nobody runs the nodes: the test says how they are, and plays the rebooter. The slurmrestd knows nodes and the
jobs on them, and does what it is told.
"""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dev.controlplane import ControlPlane
from slurmery.health.repair import policy as names
from slurmery.health.repair.model import Half
from slurmery.health.repair.policy import Policy
from slurmery.health.repair.program import Repair
from slurmery.health.storage.program import Watch
from slurmery.health.world import world
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import EVENTS, NODES, PODS, SECRETS
from slurmery.kube.runtime import Listen, Runtime
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.slinky.kinds import CONTROLLERS, REST_APIS
from slurmery.slurm.snapshot import Part
from tests.controlplane.slinky_nodeset.stage import Slurm as Nodes
from tests.controlplane.slinky_nodeset.stage import until
from tests.unit.nebius.clusters import manifest

Object = dict[str, Any]

AGENT = "the checks under test"
CLUSTER = "orion"
LINGERS = "example.com/lingers"
# Where kwok runs, it plays the kubelets.
KWOK = {"kwok.x-k8s.io/node": "fake"}
INTERVALS = {Part.NODES: 0.5, Part.JOBS: 0.5}


@dataclass
class Slurm(Nodes):
    """Nodes by name, each with the Kubernetes node that it is on, and the jobs on them."""

    running: dict[str, int] = field(default_factory=dict)
    words: list[tuple[str, Object]] = field(default_factory=list)
    heard: list[Callable[[], None]] = field(default_factory=list)
    key: bytes = b"key"
    callers: set[tuple[str, bool]] = field(default_factory=set)
    """Who asked, and whether with a token of our key."""

    def says(self, name: str, *state: str, reason: str = "", **more: Any) -> None:
        kept = {key: self.nodes[name][key] for key in ("instance_id",) if name in self.nodes}
        now = {"set": True, "infinite": False, "number": int(time.time())}
        self.nodes[name] = {
            **kept,
            **more,
            "name": name,
            "state": list(state),
            "reason": reason,
            "reason_changed_at": now,
        }

    def registers(self, name: str, host: str) -> None:
        """A slurmd reports from a Kubernetes node; a drain outlives that."""
        known = self.nodes.get(name, {"state": ["IDLE"], "reason": "", "reason_changed_at": None})
        self.nodes[name] = {**known, "name": name, "instance_id": host}

    def runs(self, name: str, job: int) -> None:
        """Let a job run there."""
        self.running[name] = job
        self._state(name, "ALLOCATED")

    def ends(self, name: str) -> None:
        """Let its job end."""
        del self.running[name]
        self._state(name, "IDLE")

    def _state(self, name: str, base: str) -> None:
        flags = [each for each in self.nodes[name]["state"] if each not in ("IDLE", "ALLOCATED")]
        self.nodes[name]["state"] = [base, *flags]

    def _called(self, head: str) -> None:
        lines = (line.partition(": ") for line in head.split("\r\n"))
        token = next(value for name, _, value in lines if name.upper() == "X-SLURM-USER-TOKEN")
        signed, _, signature = token.rpartition(".")
        wanted = base64.urlsafe_b64encode(hmac.digest(self.key, signed.encode(), "sha256")).decode()
        claims = json.loads(base64.urlsafe_b64decode(signed.partition(".")[2] + "=="))
        self.callers.add((claims["sun"], signature == wanted.rstrip("=")))

    def _answer(self, method: str, path: str, body: bytes) -> Object:
        self.jobs = [
            {"job_id": job, "job_state": ["RUNNING"], "nodes": name} for name, job in self.running.items()
        ]
        answer = super()._answer(method, path, body)
        kind, name = path.split("/")[3], path.rpartition("/")[2]
        return {**answer, "nodes": [self.nodes[name]]} if kind == "node" else answer

    def _update(self, name: str, update: Object) -> None:
        self.words.append((name, update))
        super()._update(name, update)
        for told in self.heard:
            told()


class AnySlurm(Protocol):
    """What a stage needs of a Slurm, real or not."""

    @property
    def url(self) -> str: ...

    def registers(self, name: str, host: str) -> None: ...
    def drained(self, name: str) -> bool: ...
    def reason(self, name: str) -> str: ...


S = TypeVar("S", bound=AnySlurm)


class Stage(Generic[S]):
    """One namespace with a SlurmCluster."""

    labels: ClassVar = {
        "app.kubernetes.io/name": "slurmcluster",
        "app.kubernetes.io/instance": CLUSTER,
        "app.kubernetes.io/component": "worker",
        "app.kubernetes.io/managed-by": "slurm-operator",
    }

    def __init__(
        self, plane: ControlPlane, client: Client, namespace: str, slurm: S, patience: float = 30
    ) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self.slurm = slurm
        self._patience = patience
        self._hosts: set[str] = set()

    def host(self, number: int) -> str:
        """Nodes belong to no namespace: their names tell whose they are."""
        return f"{self.namespace}-node-{number}"

    async def cluster(self, key: bytes = b"key") -> None:
        data = {"rest_jwt.key": base64.b64encode(key).decode()}
        head = {"apiVersion": "v1", "kind": "Secret"}
        secret = {"name": f"{CLUSTER}-rest-jwt-key", "namespace": self.namespace}
        await self.client.create(SECRETS, {**head, "metadata": secret, "data": data})
        cluster = manifest("1.22", "SlurmCluster")
        metadata = {"name": CLUSTER, "namespace": self.namespace}
        await self.client.create(SLURM_CLUSTERS, {**cluster, "metadata": metadata})

    async def node(self, number: int, *, workers: int = 1, address: str = "") -> str:
        """A Kubernetes node with so many workers, which Slurm knows and has nothing to do for."""
        name = self.host(number)
        self._hosts.add(name)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": KWOK}}
        await self.client.create(NODES, node)
        await self.say(number, names.READY, "True", "KubeletReady")
        if address:
            patch = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
            await self.client.patch(NODES, Key("", name), patch, subresource="status")
        for index in range(workers):
            await self.worker(f"worker-{number}{index or ''}", name)
        return name

    async def worker(self, name: str, host: str) -> None:
        """A worker pod there, that has registered."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace, "labels": self.labels},
            "spec": {
                "nodeName": host,
                "containers": [
                    {
                        "name": "slurmd",
                        "image": "slurmd",
                        "resources": {"limits": {"ephemeral-storage": "10Gi"}},
                    }
                ],
            },
        }
        await self.client.create(PODS, pod)
        self.slurm.registers(name, host)

    async def lingers(self, name: str, host: str) -> None:
        """A pod there that takes its time to leave."""
        metadata = {"name": name, "namespace": self.namespace, "finalizers": [LINGERS]}
        spec = {"nodeName": host, "containers": [{"name": "main", "image": "main"}]}
        await self.client.create(
            PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )

    async def leaves(self, name: str) -> None:
        """Let it leave."""
        await self.client.patch(PODS, Key(self.namespace, name), {"metadata": {"finalizers": None}})

    async def runs(self, pod: str) -> str:
        """Let a pod run; its uid."""
        key, patch = Key(self.namespace, pod), {"status": {"phase": "Running"}}
        answer = await self.client.patch(PODS, key, patch, subresource="status")
        return str(answer["metadata"]["uid"])

    async def evict(self, *pods: str) -> None:
        for name in pods:
            with suppress(NotFoundError):
                await self.client.delete(PODS, Key(self.namespace, name), grace_seconds=0)

    async def say(self, number: int, kind: str, status: str, reason: str = "Test", ago: float = 0) -> None:
        """Set a condition of a node, as whoever owns it would."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - ago))
        condition = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "",
            "lastTransitionTime": when,
            "lastHeartbeatTime": when,
        }
        patch = {"status": {"conditions": [condition]}}
        key = Key("", self.host(number))
        await self.client.patch(NODES, key, patch, kind="strategic", subresource="status")

    async def conditions(self, number: int) -> dict[str, tuple[str, str]]:
        found = await self.client.get(NODES, Key("", self.host(number)))
        return {
            each["type"]: (each["status"], each["reason"]) for each in found["status"].get("conditions", ())
        }

    async def says(self, number: int, kind: str, status: str, reason: str = "") -> None:
        """Wait for a condition of a node."""

        async def look() -> bool:
            found = (await self.conditions(number)).get(kind, ("", ""))
            return found[0] == status and reason in found[1]

        await until(look, self._patience)

    async def asked(self, *numbers: int) -> list[int]:
        """Wait until the rebooter is asked to take some of these nodes."""

        async def look() -> list[int]:
            return [number for number in numbers if names.DRAIN in await self.conditions(number)]

        return await until(look, 40)

    async def there(self, number: int) -> bool:
        try:
            await self.client.get(NODES, Key("", self.host(number)))
        except NotFoundError:
            return False
        return True

    async def cordoned(self, number: int) -> bool:
        found = await self.client.get(NODES, Key("", self.host(number)))
        return bool(found["spec"].get("unschedulable"))

    async def pods(self) -> set[str]:
        """The worker pods that are left."""
        return {each["metadata"]["name"] for each in (await self.client.list(PODS, self.namespace)).items}

    async def gone(self, number: int) -> None:
        async def look() -> bool:
            return not await self.there(number)

        await until(look, self._patience)

    async def drained(self, name: str, reason: str = "") -> None:
        async def look() -> bool:
            return self.slurm.drained(name) and reason in self.slurm.reason(name)

        await until(look, self._patience)

    async def undrained(self, name: str) -> None:
        async def look() -> bool:
            return not self.slurm.drained(name)

        await until(look, self._patience)

    async def hears(self, name: str, words: str) -> None:
        """Wait for an Event about an object."""

        async def look() -> bool:
            events = (await self.client.list(EVENTS)).items
            return any(each["regarding"]["name"] == name and words in each["note"] for each in events)

        await until(look, self._patience)

    def writes(self) -> int:
        """How much the program under test has written so far."""
        events = map(json.loads, self.plane.audit_log.read_text().splitlines())
        return sum(
            event.get("userAgent") == AGENT and event["verb"] not in {"get", "list", "watch"}
            for event in events
        )

    async def clean(self) -> None:
        for name in self._hosts:
            with suppress(NotFoundError):
                await self.client.delete(NODES, Key("", name))


class SlinkyStage(Stage[S]):
    """One namespace with a Controller and its RestApi."""

    labels: ClassVar = {"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": CLUSTER}

    async def cluster(self, key: bytes = b"key") -> None:
        encoded = base64.b64encode(key).decode()
        await self.create(SECRETS, "keys", {"data": {"slurm.key": encoded, "jwt.key": encoded}})
        refs = {f"{each}KeyRef": {"name": "keys", "key": f"{each}.key"} for each in ("slurm", "jwt")}
        await self.create(CONTROLLERS, CLUSTER, {"spec": {**refs, "slurmctld": {"image": "slurmctld"}}})
        await self.restapi()

    async def restapi(self) -> None:
        spec = {"controllerRef": {"name": CLUSTER}, "slurmrestd": {"image": "slurmrestd"}}
        await self.create(REST_APIS, CLUSTER, {"spec": spec})

    async def copy(self, key: bytes) -> None:
        """The key as the operator gave it to slurmctld."""
        data = {"jwt.key": base64.b64encode(key).decode()}
        await self.create(SECRETS, f"{CLUSTER}-controller-keys", {"data": data})

    async def create(self, resource: Resource, name: str, rest: Object) -> None:
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(resource, {**head, "metadata": metadata, **rest})


class Checks:
    """The program in this event loop; it can be killed and started again at any time."""

    def __init__(self, stage: Stage[Any]) -> None:
        self.policy = Policy()
        self.halves = frozenset(Half)
        self._stage = stage
        self.lives = 0
        self._dies = False
        self._watch: Watch | None = None
        self._running: asyncio.Task[None] | None = None

    def start(self, *, watch: Watch | None = None, **changes: Any) -> None:
        self._watch = watch or self._watch
        self.policy = replace(self.policy, **changes)
        self._running = asyncio.create_task(self._run())

    async def kill(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    async def restart(self, **changes: Any) -> None:
        await self.kill()
        self.start(**changes)

    async def mortal(self) -> None:
        """From now on it dies after each of its writes, whoever they were to, and is started anew."""
        self.lives = 0
        self._dies = True
        await self.restart()

    def die(self) -> None:
        """What was just written stays; whatever the program knew is gone."""
        if self._dies and self._running:
            self._running.cancel()
            self.lives += 1
            self.start()

    def _observe(self, method: str, resource: str, _code: str, _seconds: float) -> None:
        if method != "GET" and resource != "events":
            asyncio.get_running_loop().call_soon(self.die)

    async def _run(self) -> None:
        loaded, namespaces = config.load(self._stage.plane.kubeconfig), (self._stage.namespace,)
        async with Client(loaded, user_agent=AGENT, observe=self._observe) as client:
            runtime = Runtime(client, "test", Listen())
            around = world(runtime, namespaces, reach=lambda _: self._stage.slurm.url, intervals=INTERVALS)
            around.slurms.wire()
            Repair(self.policy, self.halves).wire(runtime, around)
            watching = self._watch.open(runtime, around) if self._watch else nullcontext()
            try:
                async with watching:
                    await runtime.run()
            finally:
                await around.slurms.close()

"""One namespace: what is put into it, what becomes of it, and who wrote what."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.discovery import Discovery
from slurmery.kube.errors import NotFoundError
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, PODS, SECRETS
from slurmery.kube.runtime import Listen, Runtime
from slurmery.slinky.door import Door

T = TypeVar("T")

Object = dict[str, Any]

OPERATOR = "the operator under test"
JWT_KEY = "signs tokens"
NOWHERE = "http://127.0.0.1:1"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
SLURMCTLD = {**KEYS, "slurmctld": {"image": "slurmctld"}, "logfile": {"image": "alpine"}}
SLURMDBD = {
    **KEYS,
    "slurmdbd": {"image": "slurmdbd"},
    "storageConfig": {"host": "mariadb", "passwordKeyRef": {"name": "database", "key": "password"}},
}
REF = {"controllerRef": {"name": "slurm"}}
SLURMRESTD = {**REF, "slurmrestd": {"image": "slurmrestd"}}
LOGIN = {**REF, "login": {"image": "login"}, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}}


class Scene:
    """One namespace of one control plane."""

    def __init__(self, plane: ControlPlane, client: Client, namespace: str) -> None:
        self.plane = plane
        self.client = client
        self.namespace = namespace
        self._read = 0

    async def create(self, resource: Resource, name: str, spec: Mapping[str, Any]) -> None:
        await self.client.create(resource, {**self._head(resource, name), "spec": spec})

    async def secret(self, name: str, **values: str) -> None:
        """Make a Secret, or change it."""
        data = {
            key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in values.items()
        }
        await self.client.apply(SECRETS, {**self._head(SECRETS, name), "data": data}, manager="tests")

    async def keys(self) -> None:
        """The keys of a cluster."""
        await self.secret("keys", slurm_key="shared among daemons", jwt_key=JWT_KEY)

    async def config_map(self, name: str, data: Mapping[str, str]) -> None:
        """Make a ConfigMap, or change it."""
        await self.client.apply(CONFIG_MAPS, {**self._head(CONFIG_MAPS, name), "data": data}, manager="tests")

    async def get(self, resource: Resource, name: str) -> Object | None:
        try:
            return await self.client.get(resource, Key(self.namespace, name))
        except NotFoundError:
            return None

    async def patch(self, resource: Resource, name: str, patch: Mapping[str, Any]) -> None:
        await self.client.patch(resource, Key(self.namespace, name), patch)

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(resource, Key(self.namespace, name))

    async def runs(self, pod: str) -> None:
        """Say of a pod that it runs and is ready, as its kubelet would."""
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        key = Key(self.namespace, pod)
        await self.client.patch(PODS, key, {"status": status}, subresource="status")

    async def names(self, resource: Resource) -> set[str]:
        found = (await self.client.list(resource, self.namespace)).items
        return {one["metadata"]["name"] for one in found}

    async def conditions(self, resource: Resource, name: str) -> dict[str, Object]:
        found = await self.get(resource, name) or {}
        return {one["type"]: one for one in found.get("status", {}).get("conditions", ())}

    async def exists(self, resource: Resource, *names: str) -> list[Object]:
        """Wait for objects; the answer is what they are."""

        async def there() -> list[Object]:
            found = [await self.get(resource, name) for name in names]
            return [one for one in found if one] if all(found) else []

        return await until(there)

    async def says(self, resource: Resource, name: str, kind: str, status: str, words: str = "") -> Object:
        """Wait for a condition."""

        async def said() -> Object | None:
            condition = (await self.conditions(resource, name)).get(kind, {})
            return condition if condition.get("status") == status and words in condition["message"] else None

        return await until(said)

    async def rolls(self, resource: Resource, name: str, annotation: str, before: Object) -> None:
        """Wait until new pods are wanted for one reason, and for no other."""

        async def rolled() -> bool:
            [now] = await self.exists(resource, name)
            old, new = template_annotations(before), template_annotations(now)
            changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
            assert changed <= {annotation}
            return bool(changed)

        await until(rolled)

    async def slurm_conf(self, controller: str, *lines: str) -> None:
        """Wait until slurm.conf holds these texts."""

        async def written() -> bool:
            [found] = await self.exists(CONFIG_MAPS, f"{controller}-config")
            return all(line in found["data"]["slurm.conf"] for line in lines)

        await until(written)

    async def settled(self, seconds: float = 1.0) -> None:
        """Wait until our operator has written nothing for a while."""
        async with asyncio.timeout(60):
            self.writes()
            await asyncio.sleep(seconds)
            while self.writes():  # noqa: ASYNC110
                await asyncio.sleep(seconds)

    def writes(self) -> list[tuple[str, str, str]]:
        """What our operator wrote since the last call: verb, resource and name."""
        writes = self.all_writes()
        fresh, self._read = writes[self._read :], len(writes)
        return fresh

    def all_writes(self) -> list[tuple[str, str, str]]:
        """What our operator has written since the beginning."""
        return [request for request in self._requests() if request[0] in WRITES]

    def reads(self, resource: str) -> list[str]:
        """The names of all objects that our operator has fetched, as often as it did."""
        return [name for verb, what, name in self._requests() if (verb, what) == ("get", resource)]

    def _requests(self) -> list[tuple[str, str, str]]:
        """The requests of our operator about this namespace, from the audit log."""
        return [
            (event["verb"], event["objectRef"]["resource"], event["objectRef"].get("name", ""))
            for event in map(json.loads, self.plane.audit_log.read_text().splitlines())
            if event.get("userAgent") == OPERATOR
            and event.get("objectRef", {}).get("namespace") == self.namespace
        ]

    def kubectl(self, *arguments: str) -> str:
        return self.plane.kubectl("--namespace", self.namespace, *arguments)

    def _head(self, resource: Resource, name: str) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


class Operator:
    """Our operator, in this event loop; `slurm` is where it finds every slurmrestd."""

    def __init__(self, scene: Scene, slurm: str = NOWHERE) -> None:
        self._scene = scene
        self._slurm = slurm
        self._stop: Callable[[], None] | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._running and self._stop:
            self._stop()
            await self._running
            self._running = None

    async def _run(self) -> None:
        door = Door(namespaces=(self._scene.namespace,), reach=lambda _: self._slurm)
        async with Client(config.load(self._scene.plane.kubeconfig), user_agent=OPERATOR) as client:
            runtime = Runtime(client, "test", Listen())
            runtime.discovery = Discovery(client, patience=1.0)
            self._stop = runtime.stop
            async with door.open(runtime):
                await runtime.run()


async def until(condition: Callable[[], Awaitable[T | None]], seconds: float = 30) -> T:
    """Wait for something that the world brings about in its own time."""
    async with asyncio.timeout(seconds):
        while not (answer := await condition()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return answer


def owner_of(found: Object) -> tuple[str, str]:
    [owner] = found["metadata"]["ownerReferences"]
    assert owner["controller"]
    return owner["kind"], owner["name"]


def template_annotations(workload: Object) -> dict[str, str]:
    annotations: dict[str, str] = workload["spec"]["template"]["metadata"]["annotations"]
    return annotations


def all_owned_by(found: Iterable[Object], kind: str, name: str) -> bool:
    return all(owner_of(one) == (kind, name) for one in found)

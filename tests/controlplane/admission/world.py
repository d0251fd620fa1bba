"""A real API server that asks a real webhook, for the objects of one namespace."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from dev.controlplane import ControlPlane
from slurmery.admission import hooks, service
from slurmery.admission.authority import Lives
from slurmery.admission.configurations import Plan, by_url, configurations
from slurmery.admission.hooks import Hook
from slurmery.admission.rotation import AUTHORITY_LABEL
from slurmery.admission.service import OwnAuthority, Running
from slurmery.api import nebius, slinky
from slurmery.kube.client import Client
from slurmery.kube.errors import ApiError, InvalidError, ServerError
from slurmery.kube.health import Address
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

Manifest = dict[str, Any]
HOST = "127.0.0.1"
KINDS = {f"{kind.place.api_version} {kind.place.kind}": kind for kind in (*nebius.KINDS, *slinky.KINDS)}
CORE = {"Secret": "secrets", "ConfigMap": "configmaps", "PersistentVolumeClaim": "persistentvolumeclaims"}


def resource(manifest: Manifest) -> Resource:
    """Where a manifest belongs."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    if kind in CORE:
        return Resource("", "v1", CORE[kind], kind)
    place = KINDS[f"{version} {kind}"].place
    return Resource(place.group, place.version, place.plural, place.kind)


@dataclass(frozen=True)
class World:
    """One namespace, and what becomes of objects in it."""

    plane: ControlPlane
    client: Client
    namespace: str

    @property
    def authority(self) -> Key:
        return Key(self.namespace, "webhook-ca")

    def manifest(self, api_version: str, kind: str, name: str, **parts: Any) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace} | parts.pop("metadata", {})
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}

    def slinky(self, kind: str, name: str = "x", **spec: Any) -> Manifest:
        return self.manifest("slinky.slurm.net/v1beta1", kind, name, spec=spec)

    async def create(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            await self.client.create(resource(manifest), manifest)

    async def refusal(self, manifest: Manifest) -> str:
        """What is said against creating an object; nothing when it is taken."""
        try:
            await self.create(manifest)
        except ApiError as error:
            return error.message
        return ""

    async def change(self, manifest: Manifest, patch: Mapping[str, Any]) -> str:
        """What is said against changing an object; nothing when it is taken."""
        key = Key(self.namespace, manifest["metadata"]["name"])
        try:
            await self.client.patch(resource(manifest), key, patch)
        except ApiError as error:
            return error.message
        return ""

    async def removal(self, manifest: Manifest) -> str:
        """What is said against deleting an object; nothing when it goes."""
        try:
            await self.client.delete(resource(manifest), Key(self.namespace, manifest["metadata"]["name"]))
        except ApiError as error:
            return error.message
        return ""

    async def warnings(self, manifest: Manifest) -> list[str]:
        """What people who create an object with kubectl are warned of. Nothing is created."""
        arguments = ("create", "--dry-run=server", "--warnings-as-errors", "-f", "-")
        try:
            await self.kubectl(*arguments, stdin=json.dumps(manifest))
        except AssertionError as error:
            lines = str(error).splitlines()
            return [line.partition("Warning: ")[2] for line in lines if "Warning: " in line]
        return []

    async def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """In a thread, as the webhook answers in this one."""
        return await asyncio.to_thread(self.plane.kubectl, *arguments, stdin=stdin)

    async def configure(self, port: int, which: tuple[Hook, ...] = hooks.ALL, **changes: Any) -> None:
        """Let the API server ask the webhook at a port about objects of this namespace."""
        plan = Plan(
            self.namespace,
            by_url(f"https://{HOST}:{port}"),
            which,
            labels={AUTHORITY_LABEL: f"{self.authority.namespace}.{self.authority.name}"},
            namespaces=(self.namespace,),
        )
        for manifest in configurations(plan):
            manifest["webhooks"] = [webhook | changes for webhook in manifest["webhooks"]]
            await self.client.apply(self._configurations(manifest), manifest, manager="chart")

    async def trusted(self) -> set[str]:
        """The different bundles that the configurations of this namespace trust."""
        bundles = set()
        for configuration in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
            for live in (await self.client.list(configuration)).items:
                if live["metadata"]["name"] == self.namespace:
                    bundles |= {webhook["clientConfig"].get("caBundle", "") for webhook in live["webhooks"]}
        return bundles

    async def trusts(self) -> bool:
        """Whether all of them trust somebody."""
        return "" not in await self.trusted()

    async def asks(self) -> bool:
        """Whether the API server asks the webhook and takes its answer, which is a refusal here."""
        faulty = self.slinky("RestApi", "probe", controllerRef={"name": "x"}, slurmrestd={"image": 5})
        try:
            await self.client.apply(resource(faulty), faulty, dry_run=True)
        except InvalidError as error:
            return "slurmrestd.image" in error.message
        except ServerError:
            return False
        return False

    async def forget(self) -> None:
        """No more questions."""
        for configuration in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
            with contextlib.suppress(ApiError):
                await self.client.delete(configuration, Key("", self.namespace))

    @contextlib.asynccontextmanager
    async def serving(self, lives: Lives | None = None) -> AsyncIterator[Running]:
        """A replica of the webhook."""
        own = OwnAuthority(self.authority, (HOST,), lives or Lives())
        async with service.running(self.client, Address(HOST, 0), own) as running:
            yield running

    @staticmethod
    def _configurations(manifest: Manifest) -> Resource:
        kinds = {one.kind: one for one in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS)}
        return kinds[manifest["kind"]]

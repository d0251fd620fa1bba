"""The world as the five kinds gather it: caches, contents, and the few questions that several of them ask."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from slurmery.api.slinky import Controller
from slurmery.api.slinky.shared import ConfigMapKeyRef, LocalRef, SecretKeyRef
from slurmery.doors import hashes
from slurmery.doors.conditions import Rollout
from slurmery.doors.contents import Contents
from slurmery.doors.views import Custom, M, read, resource
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import STATEFUL_SETS
from slurmery.slinky import names
from slurmery.slinky.caches import Caches


class World:
    """What can be known without waiting for Slurm. `domain` is that of the Kubernetes cluster's DNS."""

    def __init__(self, caches: Caches, contents: Contents, domain: str) -> None:
        self.caches = caches
        self.contents = contents
        self.domain = domain

    def find(self, kind: type[M], namespace: str, ref: LocalRef | None) -> M | None:
        """A custom resource that a spec names."""
        view = self.caches.custom[resource(kind)].get(Key(namespace, ref.name)) if ref else None
        return read(kind, view) if view else None

    def users(self, kind: type[M], used: Resource, key: Key) -> tuple[M, ...]:
        """The custom resources that name an object; one that is being deleted is there until it is gone.

        One that cannot be read is told so itself, and left out here.
        """
        return tuple(_readable(kind, self.caches.users(resource(kind), used, key)))

    def rollout(self, of: Resource, key: Key, owner: str) -> Rollout | None:
        """What the owner's StatefulSet or Deployment reports."""
        workload = self.caches.workloads[of].get(key)
        mine = workload and workload.controller and workload.controller.uid == owner
        return workload.rollout if workload and mine else None

    async def secret_value(self, namespace: str, ref: SecretKeyRef | None) -> bytes | None:
        """The value that a spec names; None if there is no such Secret, or no such key in it."""
        content = await self.contents.secret(Key(namespace, ref.name)) if ref and ref.name else None
        return content.get(ref.key) if content is not None and ref else None

    async def secret_hash(self, namespace: str, ref: SecretKeyRef | None) -> str | None:
        """The hash of that value."""
        value = await self.secret_value(namespace, ref)
        return None if value is None else hashes.of_value(value)

    async def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """The files in a ConfigMap."""
        content = await self.contents.config_map(Key(namespace, name))
        return None if content is None else texts(content)

    async def config_map_hash(self, namespace: str, ref: ConfigMapKeyRef | None) -> str | None:
        """The hash of the file that a spec names."""
        content = await self.contents.config_map(Key(namespace, ref.name)) if ref and ref.name else None
        value = content.get(ref.key) if content is not None and ref else None
        return None if value is None else hashes.of_value(value)

    async def cluster(self, namespace: str, ref: LocalRef) -> tuple[Controller | None, str | None]:
        """The Controller that a spec names, and the hash of the key that its daemons share.

        That is the one that slurmctld was started with: the others take a new one after it.
        """
        controller = self.find(Controller, namespace, ref)
        key = await self.secret_hash(namespace, controller.spec.slurm_key_ref if controller else None)
        return controller, (self.key_in_force(controller) or key) if controller and key else key

    def key_in_force(self, controller: Controller) -> str | None:
        """The hash of the slurm.key that a Controller's slurmctld is started with; None if there is none."""
        metadata = controller.metadata
        workload = self.caches.workloads[STATEFUL_SETS].get(
            Key(metadata.namespace, names.controller(metadata.name))
        )
        return workload.template_annotations.get(names.SLURM_KEY_HASH) if workload else None


def _readable(kind: type[M], views: Iterable[Custom]) -> Iterator[M]:
    for view in views:
        with suppress(ValueError):
            yield read(kind, view)


def texts(content: Mapping[str, bytes]) -> dict[str, str]:
    """Files as text; what is not UTF-8 cannot be one of ours."""
    return {name: value.decode(errors="replace") for name, value in content.items()}

"""Which Slurm cluster is meant, of either front door."""

from typing import NamedTuple

from slurmery.kube.meta import Key, Resource


class Ref(NamedTuple):
    """A SlurmCluster or a Controller."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.key}"

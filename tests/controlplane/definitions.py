"""Our kinds, made known to an API server."""

from collections.abc import Iterable

from dev.controlplane import ControlPlane
from slurmery.api.crd import crd
from slurmery.api.resource import CustomResource
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.resources import CUSTOM_RESOURCE_DEFINITIONS


async def define(plane: ControlPlane, kinds: Iterable[type[CustomResource]]) -> None:
    """Define the kinds, and wait until they are served."""
    names = []
    async with Client(config.load(plane.kubeconfig)) as client:
        for kind in kinds:
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="tests")
            names.append(f"crd/{kind.place.plural}.{kind.place.group}")
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)

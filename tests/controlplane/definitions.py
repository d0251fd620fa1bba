"""Our kinds, made known to an API server."""

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.api.crd import crd
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.resources import CUSTOM_RESOURCE_DEFINITIONS


async def define_slinky(plane: ControlPlane) -> None:
    """Define the kinds of slinky.slurm.net, and wait until they are served."""
    async with Client(config.load(plane.kubeconfig)) as client:
        for kind in slinky.KINDS:
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, crd(kind), manager="tests")
    names = [f"crd/{kind.place.plural}.{kind.place.group}" for kind in slinky.KINDS]
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)

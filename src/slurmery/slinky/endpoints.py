"""Where the daemons answer, for everything that connects to them."""

from dataclasses import dataclass

from slurmery.api.slinky import Accounting, Controller
from slurmery.slinky import names


@dataclass(frozen=True)
class Endpoint:
    """A host and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        # The brackets of an IPv6 address, which has colons of its own.
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def slurmctld(controller: Controller) -> Endpoint:
    """Where slurmd and sackd fetch their configuration.

    Always on Slurm's own port, whatever service.port says: the Service offers that one besides.
    """
    if controller.spec.external and controller.spec.external_config:
        return Endpoint(controller.spec.external_config.host, controller.spec.external_config.port)
    service = names.controller(controller.metadata.name)
    return Endpoint(names.in_namespace(service, controller.metadata.namespace), names.SLURMCTLD.port)


def slurmdbd(accounting: Accounting) -> Endpoint:
    """Where slurmctld stores its records; from the same namespace."""
    if accounting.spec.external and accounting.spec.external_config:
        return Endpoint(accounting.spec.external_config.host, accounting.spec.external_config.port)
    return Endpoint(
        names.accounting(accounting.metadata.name), accounting.spec.service.port or names.SLURMDBD.port
    )

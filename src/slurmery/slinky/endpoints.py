"""Where the daemons answer, for everything that connects to them."""

from dataclasses import dataclass

from slurmery.api.slinky import Accounting, Controller
from slurmery.api.slinky.shared import Container
from slurmery.doors.merge import fit, port_number
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

    Always where slurmctld listens, whatever service.port says: the Service offers that port besides.
    """
    if controller.spec.external and controller.spec.external_config:
        return Endpoint(controller.spec.external_config.host, controller.spec.external_config.port)
    service = names.controller(controller.metadata.name)
    return Endpoint(names.in_namespace(service, controller.metadata.namespace), slurmctld_port(controller))


def slurmctld_port(controller: Controller) -> int:
    """Where slurmctld listens. Raises MergeError."""
    return _listens(controller.spec.slurmctld, names.SLURMCTLD)


def slurmdbd_port(accounting: Accounting) -> int:
    """Where slurmdbd listens. Raises MergeError."""
    return _listens(accounting.spec.slurmdbd, names.SLURMDBD)


def slurmdbd(accounting: Accounting) -> Endpoint:
    """Where slurmctld stores its records; from the same namespace."""
    if accounting.spec.external and accounting.spec.external_config:
        return Endpoint(accounting.spec.external_config.host, accounting.spec.external_config.port)
    port = accounting.spec.service.port or slurmdbd_port(accounting)
    return Endpoint(names.accounting(accounting.metadata.name), port)


def _listens(container: Container, daemon: names.Daemon) -> int:
    fit("Container", container, f"spec.{daemon.name}")
    return port_number(container, daemon.name, daemon.port)

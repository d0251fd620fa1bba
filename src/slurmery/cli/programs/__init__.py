"""The programs: what the charts start. Each is a module with `run(settings)`.

`PROGRAMS` names them, with the names under which the upstream images know them, so that a link of that
name in our image is enough for an upstream chart. A link may stand for other defaults than ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final


@dataclass(frozen=True)
class Link:
    """An upstream program: where it lies in the upstream image, and the defaults that were its own."""

    path: str
    defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Program:
    """One program; its modules are imported when they are needed."""

    name: str
    summary: str
    module: str
    class_name: str
    links: tuple[Link, ...]

    @property
    def run(self) -> Callable[[Any], int | None]:
        """Its main function."""
        function: Callable[[Any], int | None] = import_module(f"{__name__}.{self.module}").run
        return function

    @property
    def settings(self) -> type[Any]:
        """The class that its flags are read into: what `run` takes."""
        settings: type[Any] = getattr(import_module(f"slurmery.cli.settings.{self.module}"), self.class_name)
        return settings

    def start(self, arguments: Sequence[str], defaults: Mapping[str, str] | None = None) -> int:
        """Run it to its end; the exit status."""
        status: int = import_module("slurmery.cli.start").start(self, arguments, defaults=defaults)
        return status


PROGRAMS: Final = (
    Program(
        "operator",
        "Make and keep the clusters of both APIs",
        "operator",
        "OperatorSettings",
        (
            Link(
                "/usr/bin/slurm_operator", {"log_level": "info", "leader_election_id": "e21479ae.nebius.ai"}
            ),
            # Slinky's chart runs the webhooks in a Deployment of their own.
            Link("/manager", {"log_level": "info", "leader_elect": "false", "enable_webhooks": "false"}),
        ),
    ),
    Program("webhook", "Answer admission requests", "webhook", "WebhookSettings", (Link("/webhook"),)),
    Program(
        "checks",
        "Watch over nodes and run ActiveChecks",
        "checks",
        "ChecksSettings",
        (Link("/usr/bin/soperatorchecks"),),
    ),
    Program(
        "rebooter",
        "Drain and reboot this node when asked",
        "rebooter",
        "RebooterSettings",
        (Link("/usr/bin/rebooter"),),
    ),
    Program(
        "sconfigcontroller",
        "Write JailedConfigs into the jail",
        "sconfigcontroller",
        "SconfigcontrollerSettings",
        (Link("/usr/bin/sconfigcontroller"),),
    ),
    Program(
        "exporter",
        "Show Slurm's state to Prometheus",
        "exporter",
        "ExporterSettings",
        (Link("/usr/bin/soperator-exporter"), Link("/usr/bin/exporter")),
    ),
    Program(
        "power-manager",
        "Power nodes up and down for Slurm",
        "power",
        "PowerManagerSettings",
        (Link("/opt/soperator/bin/power-manager"),),
    ),
)


def linked(name: str) -> tuple[Program, Link] | None:
    """The program that a link of this name stands for."""
    return next(((p, link) for p in PROGRAMS for link in p.links if link.name == name), None)

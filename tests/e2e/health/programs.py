"""`slurmery checks` and `slurmery rebooter --dry-run` as processes of their own, to be killed at any time.

They find slurmrestd by the name of its Service, as they do in Kubernetes: each has an /etc/hosts of its own,
in which that name has the address of the lab.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from dev.controlplane import ControlPlane
from slurmery.agents.rebooter.decide import REBOOTING
from slurmery.health.hosts import Host
from slurmery.health.repair import policy as names
from slurmery.kube.client import Client
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Selection
from slurmery.kube.resources import NODES
from tests.controlplane.health.stage import CLUSTER

_INSIDE: Final = 'mount --bind "$1" /etc/hosts; shift; exec "$@"'
_ALONE: Final = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private")
_QUIET: Final = ("--metrics-bind-address=0", "--health-probe-bind-address=0", "--log-format=plain")
CHECKS: Final = "checks"
POLICY: Final = "conditions: {KernelDeadlock: reboot}\n"


class Programs:
    """One `checks` for a namespace, and the rebooter of each node that was given one."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.deaths = 0
        self._plane = plane
        self._namespace = namespace
        self._log = folder / "programs.log"
        self._hosts = folder / "hosts"
        services = f"{CLUSTER}-rest-svc.{namespace}.svc {CLUSTER}-restapi.{namespace}"
        self._hosts.write_text(f"127.0.0.1 localhost\n{plane.plane.address} {services}\n")
        self._policy = folder / "policy.yaml"
        self._policy.write_text(POLICY)
        self._nodes: list[str] = []
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *nodes: str) -> None:
        """Start whatever does not run, with a rebooter on these nodes as well from now on."""
        self._nodes += nodes
        flags = (f"--policy={self._policy}", "--controllers=*,-podephemeralstoragecheck")
        self._spawn(
            CHECKS,
            "checks",
            *flags,
            "--activecheck-user=slurm",
            SLURM_OPERATOR_WATCH_NAMESPACES=self._namespace,
        )
        for node in self._nodes:
            self._spawn(node, "rebooter", "--dry-run", REBOOTER_NODE_NAME=node)

    def kill(self, spared: str = "") -> None:
        """SIGKILL: nothing is written, nothing is said, nothing is closed."""
        for name in self._running.keys() - {spared}:
            process = self._running.pop(name)
            process.kill()
            process.wait()
            self.deaths += 1

    def restart(self, spared: str = "") -> None:
        self.kill(spared)
        self.start()

    @asynccontextmanager
    async def mortal(self, client: Client, node: str) -> AsyncIterator[None]:
        """All of them die whenever one of them has changed the node, and are started anew."""
        informer = Informer(client, Selection(NODES, field_selector=f"metadata.name={node}"), Host)
        informer.subscribe(self._witness)
        watching = asyncio.create_task(informer.run())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def _witness(self, old: Host | None, new: Host | None) -> None:
        if old is None or _marks(old) == _marks(new):
            return
        # A machine that was restarted knows since when it runs. A rehearsed restart is only remembered.
        reboot = new.conditions.get(names.REBOOT) if new else None
        self.restart(spared=old.metadata.name if reboot and reboot.reason == REBOOTING else "")

    def _spawn(self, name: str, program: str, *flags: str, **environ: str) -> None:
        if name in self._running:
            return
        command = (sys.executable, "-m", "slurmery", program, *_QUIET, *flags)
        known = {**os.environ, **environ, "KUBECONFIG": str(self._plane.kubeconfig)}
        with self._log.open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*_ALONE, "sh", "-ec", _INSIDE, "sh", str(self._hosts), *command],
                env=known,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def _marks(host: Host | None) -> object:
    """What the programs write on a node."""
    if host is None:
        return None
    own = {kind: (each.status, each.reason) for kind, each in host.conditions.items() if kind in names.OWN}
    return own, host.spec.unschedulable

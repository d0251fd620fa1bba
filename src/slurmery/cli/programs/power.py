"""`slurmery power-manager`: what Slurm calls to power nodes up and down.

It ends with 0 if all is done, 1 if the API server will not have it, 2 if the nodes cannot be read, and 3 if
the time was too short; saying the same again is safe in every case.
"""

import asyncio
from typing import Final

from slurmery.agents.power.names import by_nodeset
from slurmery.agents.power.power import Nodes, Power
from slurmery.cli.settings.power import Action, PowerManagerSettings
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.logs import logger
from slurmery.slurmconf.hostlist import HostlistError

log = logger("power-manager")

_REFUSED: Final = 1
_UNREADABLE: Final = 2
_TOO_LATE: Final = 3


def run(settings: PowerManagerSettings) -> int:
    """Do it, or say in the log and the exit status why not. Raises KubeError for what a person must mend."""
    said = {"action": settings.action.value, "nodes": settings.nodes}
    try:
        asyncio.run(_run(settings, by_nodeset(settings.nodes)))
    except HostlistError as error:
        log.error("The nodes cannot be read", error=str(error), **said)
        return _UNREADABLE
    except TimeoutError:
        log.error("Not done in time", timeout=settings.timeout.total_seconds(), **said)
        return _TOO_LATE
    except NotFoundError as error:
        log.error("A NodeSet has no power state: is it ephemeral?", error=error.message, **said)
        return _REFUSED
    log.info("Done", **said)
    return 0


async def _run(settings: PowerManagerSettings, nodes: Nodes) -> None:
    cluster = config.load(settings.kubeconfig)
    async with asyncio.timeout(settings.timeout.total_seconds()), Client(cluster) as client:
        power = Power(client, settings.namespace or cluster.namespace)
        actions = {
            Action.RESUME: power.resume,
            Action.SUSPEND: power.suspend,
            Action.WAIT_ADDED: power.wait_added,
            Action.WAIT_REMOVED: power.wait_removed,
        }
        await actions[settings.action](nodes)

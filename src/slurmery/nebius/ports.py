"""Where daemons listen: where the spec says, else where they usually do."""

from slurmery.api.nebius.containers import NodeContainer
from slurmery.nebius.names import Daemon


def port(given: NodeContainer | None, daemon: Daemon) -> int:
    """The port of a daemon."""
    return (given.port if given else 0) or daemon.port

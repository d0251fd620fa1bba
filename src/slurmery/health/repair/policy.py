"""What is done about which sign of trouble: configuration, with the names of slurm.nebius.ai as defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

# Node conditions by which the checks, the rebooter and people talk to each other.
HARDWARE: Final = "HardwareIssuesSuspected"
MAINTENANCE: Final = "SoperatorChecksNodeMaintenance"
DEGRADED: Final = "SoperatorChecksNodeDegraded"
DRAIN: Final = "SlurmNodeDrain"
REBOOT: Final = "SlurmNodeReboot"
READY: Final = "Ready"

NEED_DRAIN: Final = "NodeNeedDrain"
DRAINING: Final = "NodeDraining"
DRAINED: Final = "NodeDrained"
NEED_REBOOT: Final = "NodeNeedReboot"
REBOOTED: Final = "NodeRebooted"

# Reasons of Slurm drains that are ours.
REPLACEMENT_REASON: Final = "[node_problem] compute_maintenance: node replacement process"
REBOOT_REASON: Final = "[node_problem] compute_maintenance: node reboot process"
CONDITION_REASON: Final = "[node_condition] "
NOT_READY_REASON: Final = f"{CONDITION_REASON}NotReady"

# The conditions by which the repair itself speaks: none of them can be a sign of trouble.
OWN: Final = frozenset({MAINTENANCE, DEGRADED, DRAIN, REBOOT})


def parsed(sign: str) -> tuple[str, str]:
    """The type and the status of the node condition that a sign is: `Type` alone is while it is True."""
    kind, _, status = sign.partition("=")
    return kind, status or "True"


def spelt(sign: str) -> str:
    """A sign in words."""
    return " is ".join(parsed(sign))


class Response(Enum):
    """What a sign of trouble asks for; each includes the ones above it."""

    IGNORE = "ignore"
    DRAIN = "drain"
    REBOOT = "reboot"
    REPLACE = "replace"


@dataclass(frozen=True)
class Policy:
    """Which signs ask for what.

    `conditions` are signs that others set: the type of a node condition stands for its being True, and
    `Type=False` for the contrary. `reasons` are texts in Slurm's drain reasons,
    in the order in which they are looked for. `budget` is how many Kubernetes nodes may be away at once for
    reboot, eviction or deletion. `spared` are labels of nodes that are left alone.
    """

    conditions: Mapping[str, Response] = field(
        default_factory=lambda: {
            "MaintenanceScheduled": Response.REPLACE,
            "NebiusMaintenanceScheduled": Response.REPLACE,
            HARDWARE: Response.REPLACE,
        }
    )
    reasons: Mapping[str, Response] = field(
        default_factory=lambda: {
            "Kill task failed": Response.REBOOT,
            "node replacement process": Response.REPLACE,
            "node reboot process": Response.REBOOT,
            "[node_problem]": Response.REPLACE,
            "[hardware_problem]": Response.REPLACE,
        }
    )
    replaces: bool = True
    budget: int = 1
    deletes_not_ready: bool = False
    not_ready_seconds: float = 900.0
    spared: Mapping[str, str] = field(default_factory=dict)

    @property
    def types(self) -> frozenset[str]:
        """Of conditions that are looked at."""
        return frozenset(parsed(sign)[0] for sign in self.conditions)

    def ours(self, reason: str) -> bool:
        """Whether a drain with this reason is ours to undo."""
        return reason.startswith(CONDITION_REASON) or self.of_reason(reason) is not Response.IGNORE

    def goes(self, reason: str) -> bool:
        """Whether the machine of a worker with this drain may be gone because we deleted it."""
        return reason == NOT_READY_REASON or self.of_reason(reason) is Response.REPLACE

    def of_reason(self, reason: str) -> Response:
        """What a drain reason asks for."""
        return next((each for text, each in self.reasons.items() if text in reason), Response.IGNORE)

"""The kinds of slurm.nebius.ai: one module for each, SlurmCluster's parts in their own."""

from slurmery.api.nebius.activecheck import ActiveCheck
from slurmery.api.nebius.jailedconfig import JailedConfig
from slurmery.api.nebius.nodeconfigurator import NodeConfigurator
from slurmery.api.nebius.nodeset import NodeSet
from slurmery.api.nebius.nodesetpowerstate import NodeSetPowerState
from slurmery.api.nebius.slurmcluster import SlurmCluster

KINDS = (SlurmCluster, NodeSet, NodeSetPowerState, ActiveCheck, NodeConfigurator, JailedConfig)

__all__ = [
    "KINDS",
    "ActiveCheck",
    "JailedConfig",
    "NodeConfigurator",
    "NodeSet",
    "NodeSetPowerState",
    "SlurmCluster",
]

"""What `slurmery checks` can be told."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import (
    RECONCILE,
    CacheTime,
    LeaderSettings,
    LeaseName,
    ReconcileTime,
    Watched,
)
from slurmery.cli.values import ALL, Count, Labels, Names, Percent, Port, Switches, Whole

ACTIVE: Final = "Active checks"
NODES: Final = "Nodes"
STORAGE: Final = "Ephemeral storage"
KUBELET: Final = "Kubelets"

CONTROLLERS: Final = (
    "slurmapiclients",
    "slurmnodes",
    "k8snodes",
    "activecheck",
    "activecheckjob",
    "serviceaccount",
    "activecheckprolog",
    "podephemeralstoragecheck",
)


@dataclass(frozen=True, kw_only=True)
class ChecksSettings(LeaderSettings):
    """What the checks can be told."""

    leader_election_id: LeaseName = "a22156dp.nebius.ai"
    namespaces: Watched = ()
    cache_sync_timeout: CacheTime = timedelta(minutes=2)
    reconcile_timeout: ReconcileTime = timedelta(minutes=3)
    max_concurrent_reconciles: Annotated[
        Count,
        Flag(
            "How many objects of a kind are reconciled at once.",
            RECONCILE,
            moot="budgets of nodes and of checks are spent by one hand",
        ),
    ] = 1
    controllers: Annotated[
        Switches,
        Flag(
            f"What runs of {', '.join(CONTROLLERS)}: `a,b` are these alone, `*,-a` is all but a.",
            RECONCILE,
            env="SLURM_OPERATOR_CONTROLLERS",
        ),
    ] = ALL
    requeue_after_slurm_nodes: Annotated[
        timedelta,
        Flag(
            "Time between two looks at Slurm's nodes.",
            RECONCILE,
            moot="Slurm is asked every few seconds for what changed",
        ),
    ] = timedelta(minutes=3)
    requeue_after_activecheck: Annotated[
        timedelta, Flag("Time between two looks at an ActiveCheck that waits.", RECONCILE)
    ] = timedelta(seconds=10)
    requeue_after_activecheckjob: Annotated[
        timedelta,
        Flag(
            "Time between two looks at a check's job.",
            RECONCILE,
            moot="all jobs are asked for at once, every 10 s while a check is under way",
        ),
    ] = timedelta(minutes=1)
    check_interval: Annotated[
        timedelta,
        Flag(
            "Time between two rounds of checks.",
            RECONCILE,
            moot="nodes are looked at when they or Slurm change, and each check has its own schedule",
        ),
    ] = timedelta(seconds=30)
    timeout: Annotated[
        timedelta,
        Flag(
            "Time that one question to Slurm may take.", RECONCILE, moot="each kind of question has its own"
        ),
    ] = timedelta(seconds=10)
    retries: Annotated[
        Whole,
        Flag(
            "How often a failed question is asked again.",
            RECONCILE,
            moot="Slurm is asked again until it answers, and counts as busy until then",
        ),
    ] = 3
    activecheck_user: Annotated[str, Flag("User of Slurm as whom checks are submitted.", ACTIVE)] = (
        "soperatorchecks"
    )
    activecheck_limit: Annotated[
        Count, Flag("How many checks of a cluster may be under way at once.", ACTIVE)
    ] = 4
    enable_node_replacement: Annotated[bool, Flag("Have nodes with broken hardware replaced.", NODES)] = True
    delete_not_ready_nodes: Annotated[bool, Flag("Delete Slurm's nodes that stay not ready.", NODES)] = True
    not_ready_timeout: Annotated[
        timedelta, Flag("Time after which a node that is not ready goes.", NODES)
    ] = timedelta(minutes=15)
    maintenance_condition_type: Annotated[
        Names, Flag("Types of the node conditions that announce maintenance.", NODES)
    ] = ("MaintenanceScheduled", "NebiusMaintenanceScheduled")
    maintenance_ignore_node_labels: Annotated[
        Labels,
        Flag("Nodes with one of these labels are left alone.", NODES, env="MAINTENANCE_IGNORE_NODE_LABELS"),
    ] = ()
    repair_budget: Annotated[Count, Flag("How many nodes may be away for a repair at once.", NODES)] = 1
    policy: Annotated[
        Path | None,
        Flag("File that says which node conditions and drain reasons ask for which repair.", NODES),
    ] = None
    ephemeral_storage_threshold: Annotated[
        Percent, Flag("Use from which on a worker is drained.", STORAGE)
    ] = 85.0
    ephemeral_storage_resume_threshold: Annotated[
        Percent, Flag("Use below which it is taken back.", STORAGE)
    ] = 80.0
    pod_ephemeral_max_concurrent_reconciles: Annotated[
        Count, Flag("How many pods are asked at once.", STORAGE)
    ] = 10
    pod_ephemeral_reconcile_timeout: Annotated[
        timedelta, Flag("Time that the look at one pod may take.", STORAGE)
    ] = timedelta(seconds=15)
    requeue_after_pod_ephemeral_storage_check: Annotated[
        timedelta, Flag("Time between two looks at a pod.", STORAGE)
    ] = timedelta(minutes=1)
    kubelet_port: Annotated[Port, Flag("Port of kubelets that do not name theirs.", KUBELET)] = 10250
    kubelet_request_timeout: Annotated[timedelta, Flag("Time that a request may take.", KUBELET)] = timedelta(
        seconds=10
    )
    kubelet_max_idle_conns: Annotated[Count, Flag("Connections that are kept open.", KUBELET)] = 1024
    kubelet_insecure_skip_tls_verify: Annotated[bool, Flag("Trust any certificate.", KUBELET)] = True
    kubelet_ca_file: Annotated[Path | None, Flag("Authority of the kubelets' certificates.", KUBELET)] = None
    kubelet_tls_server_name: Annotated[str, Flag("Name that the certificates are checked for.", KUBELET)] = ""

    def __post_init__(self) -> None:
        self.controllers.confine(CONTROLLERS)
        if self.ephemeral_storage_resume_threshold > self.ephemeral_storage_threshold:
            raise ValueError(
                "--ephemeral-storage-resume-threshold must not be above --ephemeral-storage-threshold"
            )

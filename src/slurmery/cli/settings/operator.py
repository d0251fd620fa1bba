"""What `slurmery operator` can be told: the flags of both upstream managers, and a little more."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

from slurmery.cli.flags import Flag
from slurmery.cli.settings.shared import (
    CLUSTER,
    ELECT,
    SERVE,
    WEBHOOKS,
    CacheTime,
    HookSettings,
    ReconcileTime,
    Watched,
    ZapLevel,
    ZapSettings,
)
from slurmery.cli.values import ALL, Count, Level, Names, Switches
from slurmery.kube.health import Address
from slurmery.nebius.sets import Api

SLINKY: Final = "Reconcilers of slinky.slurm.net"
NEBIUS: Final = "Reconcilers of slurm.nebius.ai"

CONTROLLERS: Final = ("cluster", "nodeconfigurator", "nodeset", "topology")
_PROFILES: Final = Address("localhost", 6060)


def _workers(kind: str) -> Flag:
    return Flag(f"How many {kind} are reconciled at once.", SLINKY)


@dataclass(frozen=True, kw_only=True)
class OperatorSettings(ZapSettings, HookSettings):
    """What the operator can be told."""

    log_level: ZapLevel = Level.DEBUG
    leader_elect: Annotated[
        bool, Flag("Work only while holding the lease.", ELECT, env="LEADER_ELECTION")
    ] = True
    leader_election_id: Annotated[str, Flag("Name of the lease.", ELECT, env="LEADER_ELECTION_ID")] = (
        "slurm-operator"
    )
    operator_namespace: Annotated[
        str,
        Flag(
            "Namespace of the operator's own objects; none is the pod's, or that of the kubeconfig.",
            CLUSTER,
            env="OPERATOR_NAMESPACE",
        ),
    ] = ""
    namespaces: Watched = ()
    cluster_domain: Annotated[
        str, Flag("DNS domain of the Kubernetes cluster.", CLUSTER, names=(), env="KUBERNETES_CLUSTER_DOMAIN")
    ] = "cluster.local"
    prometheus_crds: Annotated[
        bool | None,
        Flag(
            "Whether monitors of the Prometheus operator can be made; unset is found out.",
            CLUSTER,
            names=(),
            env="IS_PROMETHEUS_CRD_INSTALLED",
        ),
    ] = None
    mariadb_crds: Annotated[
        bool | None,
        Flag(
            "Whether objects of the mariadb-operator can be made; unset is found out.",
            CLUSTER,
            names=(),
            env="IS_MARIADB_CRD_INSTALLED",
        ),
    ] = None
    apparmor_crds: Annotated[
        bool | None,
        Flag(
            "Whether AppArmor profiles can be made; unset is found out.",
            CLUSTER,
            names=(),
            env="IS_APPARMOR_CRD_INSTALLED",
        ),
    ] = None
    cache_sync_timeout: CacheTime = timedelta(minutes=2)
    reconcile_timeout: ReconcileTime = timedelta(minutes=3)
    max_concurrent_reconciles: Annotated[
        Count, Flag("How many objects of a kind are reconciled at once.", NEBIUS)
    ] = 1
    controllers: Annotated[
        Switches,
        Flag(
            f"What runs of {', '.join(CONTROLLERS)}: `a,b` are these alone, `*,-a` is all but a.",
            NEBIUS,
            env="SLURM_OPERATOR_CONTROLLERS",
        ),
    ] = ALL
    enable_topology_controller: Annotated[
        bool, Flag("Keep topology.conf; --controllers decides where it is given.", NEBIUS)
    ] = False
    statefulset_api: Annotated[
        Api, Flag("Whose StatefulSets run the daemons: Kubernetes' own, or OpenKruise's.", NEBIUS)
    ] = Api.NATIVE
    topology_label_prefix: Annotated[
        str,
        Flag(
            "Prefix of the node labels that tell the network's tiers.",
            NEBIUS,
            names=(),
            env="TOPOLOGY_LABEL_PREFIX",
        ),
    ] = "topology.nebius.com"
    accounting_workers: Annotated[Count, _workers("Accountings")] = 1
    controller_workers: Annotated[Count, _workers("Controllers")] = 1
    loginset_workers: Annotated[Count, _workers("LoginSets")] = 1
    nodeset_workers: Annotated[Count, _workers("NodeSets")] = 1
    restapi_workers: Annotated[Count, _workers("RestApis")] = 1
    slurmclient_workers: Annotated[
        Count,
        Flag("How many connections to Slurm are kept at once.", SLINKY, moot="each cluster has its own"),
    ] = 1
    token_workers: Annotated[Count, _workers("Tokens")] = 1
    propagated_node_conditions: Annotated[
        Names, Flag("Types of node conditions that become part of a drain's reason.", SLINKY)
    ] = ()
    enable_webhooks: Annotated[
        bool, Flag("Serve the webhooks in this process.", WEBHOOKS, names=(), env="ENABLE_WEBHOOKS")
    ] = True
    profile: Annotated[
        bool, Flag("Serve stacks and profiles under /debug/pprof/: Python's, not Go's.", SERVE)
    ] = False
    profile_addr: Annotated[Address | None, Flag("Where they are served.", SERVE)] = _PROFILES

    def __post_init__(self) -> None:
        self.controllers.confine(CONTROLLERS)

    @property
    def home(self) -> str:
        return self.operator_namespace

    def reconciles(self, controller: str) -> bool:
        """Whether one of CONTROLLERS is on."""
        if controller == "topology" and not self.controllers.entries:
            return self.enable_topology_controller
        return self.controllers.on(controller)

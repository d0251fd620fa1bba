"""Controller: slurmctld and the cluster's configuration."""

from typing import Annotated

from pydantic import Field

from slurmery.api.fields import Inline, Int32, Items, Manifest, Nullable, PromDuration, StringMap, absent
from slurmery.api.resource import CustomResource, Inlining, Model
from slurmery.api.rules import Change, Rule
from slurmery.api.slinky.shared import (
    AGE,
    GROUP,
    NO_EXTERNAL_IPS,
    VERSION,
    Container,
    Keyed,
    LocalRef,
    PodTemplate,
    ServiceTemplate,
    Status,
)

LONGEST_CLUSTER_NAME = 40

Refs = Annotated[Items[LocalRef], Nullable()]


class HighAvailability(Model):
    """Standby slurmctld daemons that take over when the active one fails."""

    enabled: bool = False
    """Whether there are standbys."""
    backups: Annotated[Int32, Field(ge=1)] = 1
    """Number of standbys."""


class Persistence(Inlining, markers=(Inline("io.k8s.api.core.v1.PersistentVolumeClaimSpec"),)):
    """Where slurmctld keeps its state; beside these fields, those of a PersistentVolumeClaim spec."""

    enabled: bool = True
    """Whether the state outlives the pod."""
    existing_claim: Annotated[str, Field(max_length=253)] = absent("")
    """PersistentVolumeClaim to use instead of a generated one."""


class MetricsEndpoint(Model):
    """One path that Prometheus scrapes."""

    path: str
    """HTTP path of the metrics."""
    interval: PromDuration = absent("")
    """Time between scrapes of this path."""
    scrape_timeout: PromDuration = absent("")
    """Time after which a scrape of this path is given up."""


class ServiceMonitor(Model):
    """The ServiceMonitor made for Prometheus."""

    enabled: bool = False
    """Whether there is one."""
    labels: Annotated[StringMap, Nullable()] = absent({})
    """Labels to add."""
    annotations: Annotated[StringMap, Nullable()] = absent({})
    """Annotations to add."""
    interval: PromDuration = absent("")
    """Time between scrapes."""
    scrape_timeout: PromDuration = absent("")
    """Time after which a scrape is given up."""
    endpoints: Annotated[Items[MetricsEndpoint], Nullable()] = absent(())
    """Paths to scrape."""


class Metrics(Model):
    """slurmctld's own metrics."""

    enabled: bool = False
    """Whether slurmctld offers them."""
    service_monitor: Annotated[ServiceMonitor, Nullable()] = absent(ServiceMonitor())
    """Scraping by Prometheus."""


def _persistent(spec: Manifest) -> bool:
    return bool(spec.get("persistence", {}).get("enabled", True))


def _claim(spec: Manifest) -> str:
    return str(spec.get("persistence", {}).get("existingClaim", ""))


def _cel_claim(spec: str) -> str:
    # Not with `.?`: the API server takes the cost of an optional text for boundless.
    claim = f"{spec}.persistence.existingClaim"
    return f"(has({spec}.persistence) && has({claim}) ? {claim} : '')"


def _slurm_secret(spec: Manifest) -> str | None:
    return spec["slurmKeyRef"]["name"] if "slurmKeyRef" in spec else None


def _agree(new: str | None, old: str | None) -> bool:
    return new == old or not new or not old


class ControllerSpec(
    Keyed,
    markers=(
        Rule(
            "!has(self.ha) || !self.ha.enabled || (has(self.persistence) && self.persistence.enabled"
            " && has(self.persistence.existingClaim) && size(self.persistence.existingClaim) > 0)",
            "ha needs persistence with an existingClaim, a volume that all slurmctld pods share",
            holds=lambda spec: (
                not spec.get("ha", {}).get("enabled")
                or ("persistence" in spec and _persistent(spec) and _claim(spec) != "")
            ),
        ),
        Change(
            "self.?clusterName.orValue('') == '' || oldSelf.?clusterName.orValue('') == ''"
            " || self.clusterName == oldSelf.clusterName",
            "clusterName cannot be changed",
            holds=lambda new, old: _agree(new.get("clusterName"), old.get("clusterName")),
            path=".clusterName",
        ),
        Change(
            "!has(self.slurmKeyRef) || !has(oldSelf.slurmKeyRef)"
            " || self.slurmKeyRef.name == oldSelf.slurmKeyRef.name",
            "the Secret of slurmKeyRef cannot be changed",
            holds=lambda new, old: _agree(_slurm_secret(new), _slurm_secret(old)),
            path=".slurmKeyRef",
        ),
        Change(
            "self.?persistence.?enabled.orValue(true) == oldSelf.?persistence.?enabled.orValue(true)",
            "persistence cannot be switched on or off",
            holds=lambda new, old: _persistent(new) == _persistent(old),
            path=".persistence",
        ),
        Change(
            f"!self.?persistence.?enabled.orValue(true) || {_cel_claim('self')} == {_cel_claim('oldSelf')}",
            "the claim that holds slurmctld's state cannot be changed",
            holds=lambda new, old: not _persistent(new) or _claim(new) == _claim(old),
            path=".persistence",
        ),
        NO_EXTERNAL_IPS,
    ),
):
    """The slurmctld to run and the configuration of its cluster."""

    cluster_name: Annotated[str, Field(max_length=LONGEST_CLUSTER_NAME)] = absent("")
    """Slurm's ClusterName; made of the namespace and the name of this object, joined by "_", when empty."""
    accounting_ref: LocalRef | None = None
    """Accounting in the same namespace that records this cluster's jobs."""
    ha: HighAvailability | None = None
    """Standby daemons."""
    slurmctld: Container = absent({})
    """A core/v1 Container, merged over the generated slurmctld container."""
    inplace_reconfigure: bool = False
    """Whether a sidecar reconfigures the running slurmctld when its files change, instead of new pods."""
    reconfigure: Container = absent({})
    """A core/v1 Container, merged over the sidecar that inplaceReconfigure adds."""
    logfile: Container = absent({})
    """A core/v1 Container, merged over the sidecar that prints slurmctld's log."""
    template: PodTemplate = absent(PodTemplate())
    """What to lay over the slurmctld pods."""
    extra_conf: str = absent("")
    """Lines to append to slurm.conf."""
    config_file_refs: Refs = absent(())
    """ConfigMaps whose keys become files beside slurm.conf, for example gres.conf or topology.yaml."""
    prolog_script_refs: Refs = absent(())
    """ConfigMaps with scripts that run on a worker before a job's first step there."""
    epilog_script_refs: Refs = absent(())
    """ConfigMaps with scripts that run on a worker after a job."""
    prolog_slurmctld_script_refs: Refs = absent(())
    """ConfigMaps with scripts that slurmctld runs before a job."""
    epilog_slurmctld_script_refs: Refs = absent(())
    """ConfigMaps with scripts that slurmctld runs after a job."""
    persistence: Persistence = absent(Persistence())
    """Storage for slurmctld's state."""
    service: ServiceTemplate = absent(ServiceTemplate())
    """What to lay over the Service of slurmctld."""
    metrics: Metrics = absent(Metrics())
    """Metrics that slurmctld itself offers."""

    @property
    def replicas(self) -> int:
        """How many slurmctld there are: the active one and its standbys."""
        return 1 + self.ha.backups if self.ha and self.ha.enabled and not self.external else 1


def _derived_name(controller: Manifest) -> str:
    metadata = controller.get("metadata", {})
    return f"{metadata.get('namespace', 'default')}_{metadata.get('name', '')}"


def _both_named(*controllers: Manifest) -> bool:
    return all(controller["spec"].get("clusterName") for controller in controllers)


def _cluster_name(controller: Manifest) -> str:
    return str(controller["spec"].get("clusterName") or _derived_name(controller))


class Controller(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="controllers",
    short_names=("slurmctld",),
    columns=(AGE,),
    markers=(
        Rule(
            "",
            f"is required, as namespace and name together are longer than {LONGEST_CLUSTER_NAME} characters",
            holds=lambda new: (
                bool(new["spec"].get("clusterName")) or len(_derived_name(new)) <= LONGEST_CLUSTER_NAME
            ),
            path=".spec.clusterName",
            only_on_create=True,
        ),
        Change(
            "",
            "cannot be changed; when empty, it is the namespace and the name, joined by _",
            holds=lambda new, old: _both_named(new, old) or _cluster_name(new) == _cluster_name(old),
            path=".spec.clusterName",
        ),
    ),
):
    """A Slurm controller: slurmctld and the configuration of its cluster."""

    spec: ControllerSpec
    """The slurmctld to run."""
    status: Status | None = None
    """What the operator observed."""

    @property
    def cluster_name(self) -> str:
        """Slurm's ClusterName."""
        return self.spec.cluster_name or f"{self.metadata.namespace}_{self.metadata.name}"

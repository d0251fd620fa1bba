"""The exporter of a SlurmCluster: Slurm's state as metrics for Prometheus."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from slurmery.api.fields import Int32, Items, PromDuration, absent
from slurmery.api.nebius.containers import NodeContainer, SlurmNode
from slurmery.api.nebius.volumes import NodeVolume
from slurmery.api.resource import Model
from slurmery.api.rules import Rule

_LABEL_NAME = r"^[a-zA-Z_][a-zA-Z0-9_]*$"

RelabelAction: TypeAlias = Literal[
    "replace",
    "Replace",
    "keep",
    "Keep",
    "drop",
    "Drop",
    "hashmod",
    "HashMod",
    "labelmap",
    "LabelMap",
    "labeldrop",
    "LabelDrop",
    "labelkeep",
    "LabelKeep",
    "lowercase",
    "Lowercase",
    "uppercase",
    "Uppercase",
    "keepequal",
    "KeepEqual",
    "dropequal",
    "DropEqual",
]


class RelabelConfig(Model):
    """One step in which Prometheus rewrites labels."""

    action: RelabelAction = "replace"
    """What the step does."""
    source_labels: Items[Annotated[str, Field(pattern=_LABEL_NAME)]] = absent(())
    """Labels whose values are put together and matched."""
    separator: str | None = None
    """What is put between the values."""
    regex: str = absent("")
    """Expression that the values are matched with."""
    target_label: str = absent("")
    """Label that gets the result."""
    replacement: str | None = None
    """What the result is made of."""
    modulus: Annotated[int, Field(ge=0)] | None = None
    """Number that the hash of the values is divided by."""


class PodMonitorConfig(Model):
    """How Prometheus scrapes the exporter."""

    job_label: str = "slurm-exporter"
    """Label of the pod that becomes the label `job`."""
    interval: PromDuration = "30s"
    """Time between two scrapes."""
    scrape_timeout: PromDuration = "20s"
    """Time that a scrape may take."""
    relabel_config: Items[RelabelConfig] = absent(())
    """Steps on the labels of the target."""
    metric_relabel_configs: Items[RelabelConfig] = absent(())
    """Steps on the labels of the metrics."""


class LegacyExporter(NodeContainer):
    """The exporter before 1.22."""

    pod_template_name_ref: str = absent("")
    """PodTemplate that is merged over the pod."""


class LegacyVolumes(Model):
    """Volumes of the exporter before 1.22."""

    jail: NodeVolume
    """The shared root file system."""


_LOOKBACK = Rule(
    "self.matches('[1-9]')",
    "must be longer than nothing",
    holds=lambda lookback: any(digit in lookback for digit in "123456789"),
)


class Exporter(SlurmNode):
    """Slurm's state as metrics for Prometheus."""

    enabled: bool = False
    """Whether there is an exporter."""
    exporter_container: NodeContainer | None = None
    """The container that runs the exporter."""
    collection_interval: PromDuration = "30s"
    """Time between two readings of Slurm's state."""
    max_collector_inflight: Annotated[Int32, Field(ge=1)] = 1
    """How many readings of one kind may be under way at once (5.0)."""
    job_source: Literal["controller", "accounting"] = "controller"
    """Whether jobs are read from slurmctld or from accounting (5.0)."""
    accounting_jobs_lookback: Annotated[PromDuration, Field(max_length=64), _LOOKBACK] = "1h"
    """How far back jobs are read from accounting (5.0)."""
    service_account_name: str = absent("")
    """ServiceAccount of the pod; absent means one that is made for it (5.0)."""
    pod_monitor_config: PodMonitorConfig = PodMonitorConfig()
    """How Prometheus scrapes the exporter."""
    exporter: LegacyExporter | None = None
    """Deprecated: a third-party exporter, which is used if its image is given."""
    munge: NodeContainer | None = None
    """Deprecated: munge for the third-party exporter."""
    volumes: LegacyVolumes | None = None
    """Deprecated: volumes of the third-party exporter."""

"""The parts of a SlurmCluster that end up in Slurm's configuration files."""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import Int32, Int64, Items, Manifest, StringMap, absent
from slurmery.api.resource import Model
from slurmery.api.rules import Rule


class Partition(Model):
    """A partition that is made of NodeSets (5.0)."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the partition."""
    is_all: bool = False
    """Whether it has the nodes of every NodeSet."""
    node_set_refs: Items[str] = absent(())
    """NodeSets whose nodes it has."""
    config: str = absent("")
    """Further parameters of its line in slurm.conf."""


def _raw_lines_are_partitions(partitioning: Manifest) -> bool:
    if partitioning["configType"] != "custom":
        return True
    return all(line.strip().startswith("PartitionName") for line in partitioning.get("rawConfig", ()))


class PartitionConfiguration(
    Model,
    markers=(
        Rule(
            "self.configType != 'structured' || (has(self.partitions) && size(self.partitions) > 0)",
            "a structured configuration needs at least one partition",
            holds=lambda given: given["configType"] != "structured" or bool(given.get("partitions")),
            path=".partitions",
        ),
        Rule(
            "self.configType != 'custom' || !has(self.rawConfig)"
            " || self.rawConfig.all(line, line.trim().startsWith('PartitionName'))",
            "every line of a custom configuration must start with PartitionName",
            holds=_raw_lines_are_partitions,
            path=".rawConfig",
        ),
    ),
):
    """Slurm's partitions: the default ones, lines of your own, or partitions made of NodeSets."""

    config_type: Literal["default", "custom", "structured"] = "default"
    """`default` makes the usual partitions, `custom` takes rawConfig, `structured` takes partitions."""
    raw_config: Annotated[Items[Annotated[str, Field(max_length=16384)]], Field(max_length=512)] = absent(())
    """Lines for slurm.conf, each starting with PartitionName; for `custom`."""
    partitions: Items[Partition] = absent(())
    """Partitions made of NodeSets; for `structured` (5.0)."""


class SlurmConfig(Model):
    """Parameters of slurm.conf; each is described in Slurm's manual under the same name."""

    def_mem_per_node: Int32 = absent(0)
    """MiB of memory that a job gets on each node unless it asks for some; 0 means all. When absent: 1048576
    in a cluster with slurmNodes.worker (as in 1.22), else 0 (as in 5.0)."""
    def_cpu_per_gpu: Annotated[Int32, Field(alias="defCpuPerGPU")] = 4
    """CPUs that a job gets for each GPU unless it asks for some."""
    complete_wait: Int32 = 5
    """Seconds that Slurm waits for a completing job before it schedules others."""
    epilog: str = ""
    """Script that runs on a node after each job."""
    prolog: str = ""
    """Script that runs on a node before each job."""
    task_prolog: str = ""
    """Script that runs as the user before each task (5.0)."""
    task_plugin_param: str = ""
    """Parameters of the task plugin."""
    max_job_count: Int32 = 20000
    """How many jobs Slurm keeps in memory at most."""
    min_job_age: Int32 = absent(1800)
    """Seconds that a finished job stays in memory. When absent: 28800 in a cluster with slurmNodes.worker (as
    in 1.22), else 1800 (as in 5.0)."""
    message_timeout: Int32 = 60
    """Seconds that a message between daemons may take."""
    topology_plugin: str = "topology/tree"
    """Plugin that tells Slurm about the network."""
    topology_param: str = "SwitchAsNodeRank"
    """Parameters of the topology plugin."""
    suspend_time: Int32 = 1000000000
    """Seconds after which an idle ephemeral node is switched off (5.0)."""
    resume_timeout: Annotated[Int32, Field(ge=1)] = 1800
    """Seconds that a node may take to come up (5.0)."""


class MpiConfig(Model):
    """Parameters of mpi.conf."""

    pmix_env: str = "OMPI_MCA_btl_tcp_if_include=eth0"
    """Environment for PMIx, as name=value separated by semicolons."""


class Pyxis(Model):
    """The plugin that runs jobs in container images."""

    required: bool = True
    """Whether a job fails where the plugin cannot be loaded."""
    container_image_save: str = "/var/cache/enroot-container-images/"
    """Directory for imported images; used in a cluster with slurmNodes.worker (as in 1.22)."""
    importer_path: str = "/opt/slurm_scripts/pyxis_caching_importer.sh"
    """Program that imports images; used in a cluster without slurmNodes.worker (as in 5.0)."""
    use_squashfuse: bool = False
    """Whether images are mounted with squashfuse instead of unpacked (5.0)."""


class NcclDebug(Model):
    """The plugin that collects the debug log of NCCL."""

    required: bool = False
    """Whether a job fails where the plugin cannot be loaded."""
    enabled: bool = False
    """Whether logs are collected unless a job says otherwise."""
    log_level: Literal["VERSION", "WARN", "INFO", "TRACE"] = "INFO"
    """How much NCCL logs."""
    output_to_file: bool = True
    """Whether logs go to a file."""
    output_to_std_out: bool = False
    """Whether logs go to the output of the job."""
    output_directory: str = absent("/opt/soperator-outputs/local/nccl_logs")
    """Directory for the files. When absent: /opt/soperator-outputs/nccl_logs in a cluster with
    slurmNodes.worker (as in 1.22), else /opt/soperator-outputs/local/nccl_logs (as in 5.0)."""


class NcclInspector(Model):
    """The plugin that sets up NCCL's inspector profiler (5.0)."""

    required: bool = False
    """Whether a job fails where the plugin cannot be loaded."""
    enabled: bool = True
    """Whether jobs are profiled unless they say otherwise."""
    profiler_plugin: str = "/usr/lib/x86_64-linux-gnu/libnccl-profiler-inspector.so"
    """Library that profiles."""
    dump_dir: str = "/opt/soperator-outputs/shared/nccl_profiles/%j/%s"
    """Directory for profiles; %j is the job, %s the step."""
    dump_verbose: bool = False
    """Whether profiles are detailed."""
    dump_thread_interval_microseconds: Int64 = 1000000
    """Microseconds between two dumps."""


class CustomPlugin(Model):
    """A SPANK plugin of your own."""

    path: str
    """Absolute path of the library, or its bare file name."""
    required: bool = False
    """Whether a job fails where the plugin cannot be loaded."""
    arguments: StringMap = Field(default={})
    """Arguments as name and value."""


class PlugStackConfig(Model):
    """SPANK plugins in plugstack.conf."""

    pyxis: Pyxis = Pyxis()
    """The plugin that runs jobs in container images."""
    nccl_debug: NcclDebug = NcclDebug()
    """The plugin that collects the debug log of NCCL."""
    nccl_inspector_pre_conf: NcclInspector = NcclInspector(enabled=False)
    """The plugin that sets up NCCL's inspector profiler; off unless this object is given (5.0)."""
    custom_plugins: Items[CustomPlugin] = ()
    """SPANK plugins of your own."""


class NodeState(Model):
    """A state of nodes in which their health is checked."""

    state: Literal["ALLOC", "ANY", "CYCLE", "IDLE", "NONDRAINED_IDLE", "MIXED"]
    """Slurm's word for the state; CYCLE spreads the checks over the interval."""


class HealthCheckConfig(Model):
    """The program with which Slurm checks its nodes."""

    health_check_interval: Int32
    """Seconds between two checks."""
    health_check_program: str
    """Program to run on each node."""
    health_check_node_state: Annotated[Items[NodeState], Field(min_length=1)]
    """States of nodes in which they are checked."""


class WorkerFeature(Model):
    """A feature that some of the workers have (1.22)."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the feature."""
    hostlist_expr: Annotated[str, Field(min_length=1)]
    """The workers that have it, as a Slurm hostlist such as worker-[0-3]."""
    nodeset_name: str = absent("")
    """Slurm Nodeset to make of them."""


class ClusterTopology(Model):
    """Topology of blocks (5.0)."""

    block_size: int = 18
    """Nodes in a block, for topology/block."""

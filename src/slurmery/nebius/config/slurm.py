"""slurm.conf and its includes, with the keys and in the order of the contract, in two generations.

    1.22   slurm.conf ──include──► custom_slurm.conf                                  (the user's lines)
    5.0    slurm.conf ──include──► slurm_base.conf.noedit, slurm_k8s_extra.conf.noedit (the user's lines)

PluginDir is not among the keys: Slurm knows where its own plugins are, on every architecture.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import accounting, nodes, partitions, words
from slurmery.nebius.config.release import knows
from slurmery.nebius.config.words import GAP, comment
from slurmery.nebius.ports import port
from slurmery.slurmconf.text import entry, record, settings

# Slurm cannot read an include that no line break follows: it takes what is left of the line before.
_END: Final = ""
_HANDOFF: Final = "soperator-worker-handoff"
# Releases that know these settings; a key that it does not know keeps Slurm from starting.
_METRICS_SINCE: Final = (25, 11)
_ACTIONS_SINCE: Final = (26, 5)
_SCHEDULER_1_22: Final = "nohold_on_prolog_fail,extra_constraints"
_SCHEDULER_5_0: Final = (
    "nohold_on_prolog_fail,extra_constraints,pack_serial_at_end,salloc_wait_nodes,sbatch_wait_nodes,"
    "defer_batch,max_rpc_cnt=100,bf_continue,bf_max_time=60,bf_max_job_test=1000,bf_max_job_part=300,"
    "bf_running_job_reserve"
)


def slurm_files(cluster: Cluster) -> dict[str, str]:
    """slurm.conf and what it includes, by file name."""
    custom = words.settings("customSlurmConfig", cluster.spec.custom_slurm_config)
    if cluster.is_1_22:
        ending = [GAP, comment("Settings of this cluster's own"), f"include {names.CUSTOM_SLURM_CONF}", _END]
        return {
            names.SLURM_CONF: words.file([*_lines(cluster), *ending]),
            names.CUSTOM_SLURM_CONF: words.file([comment("Settings of this cluster's own"), *custom]),
        }
    includes = [f"include {names.SLURM_BASE_CONF}", f"include {names.SLURM_EXTRA_CONF}", _END]
    return {
        names.SLURM_CONF: words.file([*words.MANAGED, *includes]),
        names.SLURM_BASE_CONF: words.file([*words.MANAGED, *_lines(cluster)]),
        names.SLURM_EXTRA_CONF: words.file([*words.MANAGED, *custom]),
    }


def written_room(files: Mapping[str, str]) -> int:
    """MaxNodeCount in files that were written before; 0 if there is none."""
    text = files.get(names.SLURM_BASE_CONF) or files.get(names.SLURM_CONF, "")
    found = settings(text).get("maxnodecount", "")
    return int(found) if found.isdigit() else 0


def slurm_rest_conf(cluster: Cluster) -> str:
    """What slurmrestd reads: slurm.conf, but it is asked with tokens."""
    header = () if cluster.is_1_22 else words.MANAGED
    body = [comment("slurmrestd"), f"include {names.SLURM_CONF}", entry("AuthType", "auth/jwt")]
    return words.file([*header, *body])


def _lines(cluster: Cluster) -> Iterator[str]:
    yield from _general(cluster)
    yield from _parameters(cluster)
    yield from _daemons(cluster)
    yield from _plugins(cluster)
    yield from _health_check(cluster)
    yield from _timers(cluster)
    yield from _scheduling_and_logging(cluster)
    yield from _compute(cluster)
    yield from accounting.accounting_lines(cluster)


def _general(cluster: Cluster) -> Iterator[str]:
    at = cluster.names
    yield entry("ClusterName", cluster.name)
    yield GAP
    yield entry("SlurmctldHost", f"{at.controller_host}({at.controller_service})")
    yield GAP
    yield entry("AuthType", "auth/munge")
    yield entry("CredType", "cred/munge")
    yield GAP


def _parameters(cluster: Cluster) -> Iterator[str]:
    """What the spec sets by name: a number as it is, a text unless it is empty."""
    given = cluster.spec.slurm_config
    pairs: list[tuple[str, str | int]] = [
        ("DefMemPerNode", given.def_mem_per_node),
        ("DefCpuPerGPU", given.def_cpu_per_gpu),
        ("CompleteWait", given.complete_wait),
        ("Epilog", given.epilog),
        ("Prolog", given.prolog),
        ("TaskProlog", given.task_prolog),
        ("TaskPluginParam", given.task_plugin_param),
        ("MaxJobCount", given.max_job_count),
        ("MinJobAge", given.min_job_age),
        ("MessageTimeout", given.message_timeout),
        ("TopologyPlugin", given.topology_plugin),
        ("TopologyParam", given.topology_param),
    ]
    if not cluster.is_1_22:
        pairs.append(("SuspendTime", given.suspend_time))
    yield comment("SlurmConfig Spec")
    yield from (entry(key, value) for key, value in pairs if value != "")
    yield GAP


def _daemons(cluster: Cluster) -> Iterator[str]:
    components = cluster.spec.slurm_nodes
    if cluster.gpu:
        yield entry("GresTypes", "gpu")
    yield entry("MpiDefault", "pmix")
    yield entry("MailProg", "/usr/bin/true")
    yield entry("ProctrackType", "proctrack/cgroup")
    yield entry("ReturnToService", 2)
    yield GAP
    yield entry("SlurmctldPidFile", "/var/run/slurmctld.pid")
    yield entry("SlurmctldPort", port(components.controller.slurmctld, names.SLURMCTLD))
    yield GAP
    yield entry("SlurmdPidFile", "/var/run/slurmd.pid")
    if components.worker:
        yield entry("SlurmdPort", port(components.worker.slurmd, names.SLURMD))
    yield GAP
    yield entry("SlurmdSpoolDir", names.SLURMD_SPOOL)
    yield GAP
    yield entry("SlurmUser", "root")
    yield GAP
    yield entry("StateSaveLocation", names.SLURMCTLD_SPOOL)
    yield GAP


def _plugins(cluster: Cluster) -> Iterator[str]:
    yield entry("TaskPlugin", "task/cgroup,task/affinity")
    yield GAP
    yield entry("CliFilterPlugins", "cli_filter/user_defaults")
    yield GAP
    yield entry("LaunchParameters", "use_interactive_step")
    yield comment("Scrontab")
    yield entry("ScronParameters", "enable,explicit_scancel")
    yield GAP
    yield entry("PropagateResourceLimits", "NONE")
    yield GAP
    yield entry("SchedulerParameters", _SCHEDULER_1_22 if cluster.is_1_22 else _SCHEDULER_5_0)
    if not cluster.is_1_22:
        yield entry("PrologFlags", "contain")
        if cluster.spec.slurm_nodes.controller.open_metrics.enabled and knows(cluster, _METRICS_SINCE):
            yield entry("MetricsType", "metrics/openmetrics")
    yield GAP


def _health_check(cluster: Cluster) -> Iterator[str]:
    yield comment("HEALTH CHECKS")
    yield comment("of nodes, by a program of this cluster's own")
    check = cluster.spec.health_check_config
    if check:
        yield entry("HealthCheckInterval", check.health_check_interval)
        yield entry("HealthCheckProgram", check.health_check_program)
        yield entry("HealthCheckNodeState", ",".join(each.state for each in check.health_check_node_state))
    yield GAP


def _timers(cluster: Cluster) -> Iterator[str]:
    yield entry("InactiveLimit", 0)
    yield entry("KillOnBadExit", 1)
    yield entry("KillWait", 180)
    yield entry("UnkillableStepTimeout", 600)
    yield entry("SlurmctldTimeout", 180)
    yield entry("SlurmdTimeout", 180)
    yield entry("TCPTimeout", 15)
    yield entry("WaitTime", 0)
    yield entry("SlurmctldParameters", ",".join(_slurmctld_parameters(cluster)))
    yield entry("RebootProgram", f"{names.SLURM_SCRIPTS_DIR}/reboot.sh")
    yield entry("ResumeTimeout", cluster.spec.slurm_config.resume_timeout)
    if not cluster.is_1_22:
        yield from _power(cluster)
    yield GAP


def _slurmctld_parameters(cluster: Cluster) -> list[str]:
    if cluster.is_1_22:
        return ["conmgr_max_connections=512", "conmgr_threads=16"]
    ephemeral = any(nodeset.spec.ephemeral_nodes for nodeset in cluster.nodesets)
    return [
        f"conmgr_max_connections={_room(cluster)}",
        "conmgr_threads=32",
        "validate_nodeaddr_threads=32",
        "enable_stepmgr",
        *(("cloud_dns", "idle_on_node_suspend") if ephemeral else ()),
    ]


def _power(cluster: Cluster) -> Iterator[str]:
    if knows(cluster, _ACTIONS_SINCE):
        yield record(
            ("PowerAction", _HANDOFF),
            ("Program", f"{names.SLURM_SCRIPTS_DIR}/worker_handoff.py"),
            ("Location", "slurmd"),
        )
    yield entry("ResumeProgram", f"{names.POWER_SCRIPTS_DIR}/power_resume.sh")
    yield entry("ResumeFailProgram", f"{names.POWER_SCRIPTS_DIR}/power_resume_fail.sh")
    yield entry("SuspendProgram", f"{names.POWER_SCRIPTS_DIR}/power_suspend.sh")
    yield entry("SuspendTimeout", 90)
    yield entry("ResumeRate", 100)
    yield entry("SuspendRate", 100)
    yield entry("ReconfigFlags", "KeepPowerSaveSettings")
    if static := nodes.static_nodes(cluster):
        yield entry("SuspendExcNodes", static)


def _scheduling_and_logging(cluster: Cluster) -> Iterator[str]:
    level = "verbose" if cluster.is_1_22 else "debug"
    yield comment("SCHEDULING")
    yield entry("SchedulerType", "sched/backfill")
    yield entry("SelectType", "select/cons_tres")
    yield entry("SelectTypeParameters", "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK")
    yield GAP
    yield comment("LOGGING")
    yield entry("SlurmctldDebug", level)
    yield entry("SlurmctldLogFile", "/dev/null")
    yield entry("SlurmdDebug", level)
    yield entry("SlurmdLogFile", "/dev/null")
    yield entry("DebugFlags", "Script" if cluster.is_1_22 else "Script,Power")
    yield GAP


def _compute(cluster: Cluster) -> Iterator[str]:
    count = cluster.worker_count
    yield comment("COMPUTE NODES")
    yield entry("MaxNodeCount", _room(cluster))
    yield entry("MaxArraySize", max(1024, 5 * count))
    yield entry("JobRequeue", 1)
    yield entry("PreemptMode", "REQUEUE")
    yield entry("PreemptType", "preempt/partition_prio")
    if not cluster.is_1_22:
        yield from nodes.node_lines(cluster)
    yield comment("Partitions")
    yield from partitions.partition_lines(cluster)
    yield GAP
    yield comment("Nodesets")
    for index, feature in enumerate(cluster.spec.worker_features):
        field = f"workerFeatures[{index}]"
        words.word(f"{field}.name", feature.name)
        if feature.nodeset_name:
            nodeset = words.word(f"{field}.nodesetName", feature.nodeset_name)
            yield record(("Nodeset", nodeset), ("Feature", feature.name))


def _room(cluster: Cluster) -> int:
    """Twice as many as there are, in powers of two so that it seldom changes; never few, nor fewer."""
    count = cluster.worker_count
    return max(1024, cluster.room, 1 << (2 * count - 1).bit_length() if count else 0)

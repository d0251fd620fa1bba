"""slurm.conf and cgroup.conf of a cluster, with the keys and in the order of the contract."""

import re
from dataclasses import dataclass
from typing import Final

from slurmery.api.slinky import Controller
from slurmery.api.slinky.controller import ControllerSpec
from slurmery.doors.conditions import Problem
from slurmery.slinky import endpoints, names
from slurmery.slinky.controller import files, gres, partitions
from slurmery.slinky.controller.observed import Observed
from slurmery.slinky.security import auth_options
from slurmery.slurmconf import text
from slurmery.slurmconf.text import TextError, entry, section

_AUTH: Final = (
    ("AuthType", "auth/slurm"),
    ("CredType", "cred/slurm"),
    ("AuthAltTypes", "auth/jwt"),
)
_SLURMCTLD_PARAMETERS: Final = ("enable_configless", "reconfig_on_restart")
_EXTRA: Final = "EXTRA CONFIG"
_SCRIPTS: Final = ("SLURMCTLD PROLOG & EPILOG", "PROLOG & EPILOG")
_PARTITIONS: Final = "NODESET & PARTITION"
_CLUSTER_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Config:
    """The files, what was left out of them and why, and partitions that wait for their last job."""

    files: dict[str, str]
    problems: tuple[Problem, ...] = ()
    waiting: tuple[str, ...] = ()


def config(controller: Controller, observed: Observed) -> Config:
    """The files of a cluster whose slurmctld we run."""
    spec = controller.spec
    lines = partitions.plan(observed.nodesets, spec.extra_conf, observed.slurm_conf, observed.job_partitions)
    options = {
        **auth_options(jwks=files.has_jwks(spec, observed)),
        "SlurmctldParameters": _SLURMCTLD_PARAMETERS,
    }
    slurm_conf = text.file(
        section("GENERAL", _general(controller, observed)),
        section("LOGGING", _logging()),
        section("PLUGINS & PARAMETERS", [*_plugins(spec, options), *_gres_types(controller, observed)]),
        section("ACCOUNTING", _accounting(controller, observed)),
        section(_SCRIPTS[0], _slurmctld_scripts(spec, observed)),
        section(_SCRIPTS[1], _scripts(spec, observed)),
        section(_PARTITIONS, lines.lines),
        section(_EXTRA, text.raw("extraConf", spec.extra_conf)),
        section("MERGED CONFIG", text.united(options, spec.extra_conf)),
    )
    written = {names.SLURM_CONF: slurm_conf}
    if names.CGROUP_CONF not in files.of(spec.config_file_refs, observed):
        written[names.CGROUP_CONF] = _cgroup_conf()
    if found := gres.file(controller, observed):
        written[gres.GRES_CONF] = found
    return Config(written, lines.problems, lines.waiting)


def external_config(controller: Controller, observed: Observed) -> Config:
    """What slurmrestd needs to know of a cluster whose slurmctld runs elsewhere."""
    at = endpoints.slurmctld(controller)
    general = [
        entry("ClusterName", _cluster_name(controller)),
        entry("SlurmUser", names.SLURM_USER),
        entry("SlurmctldHost", at.host),
        entry("SlurmctldPort", at.port),
    ]
    slurm_conf = text.file(
        section("GENERAL", general),
        section("PLUGINS & PARAMETERS", [entry(key, plugin) for key, plugin in _AUTH]),
        section("ACCOUNTING", _accounting(controller, observed)),
    )
    return Config({names.SLURM_CONF: slurm_conf})


def for_clients(slurm_conf: str) -> str:
    """The part of slurm.conf that matters to who only talks to slurmctld: a change of it is one to them."""
    kept = text.lines(text.without(slurm_conf, *_SCRIPTS, _PARTITIONS))
    return text.file(line for line in kept if not line.startswith("MaxNodeCount="))


def _written_before(observed: Observed) -> dict[str, str]:
    """The settings that we wrote last; not those of extraConf, or every change of it would come twice."""
    return text.settings(text.before(observed.slurm_conf, _EXTRA))


def _cluster_name(controller: Controller) -> str:
    name = controller.cluster_name
    if not _CLUSTER_NAME.fullmatch(name):
        raise TextError(f"clusterName must be letters, digits, '_', '.' and '-', not {name!r}")
    return name


def _general(controller: Controller, observed: Observed) -> list[str]:
    name, namespace = controller.metadata.name, controller.metadata.namespace
    cluster = _cluster_name(controller)
    pods = [names.controller_pod(name, ordinal) for ordinal in range(controller.spec.replicas)]
    before = _written_before(observed)
    return [
        entry("ClusterName", cluster),
        entry("SlurmUser", names.SLURM_USER),
        *(entry("SlurmctldHost", f"{pod}({_address(controller, pod)})") for pod in pods),
        entry("SlurmctldPort", endpoints.slurmctld_port(controller)),
        entry("SlurmctldAddr", names.in_namespace(names.controller(name), namespace)),
        entry("StateSaveLocation", names.statesave(cluster)),
        entry("SlurmdUser", names.SLURMD_USER),
        entry("SlurmdPort", names.SLURMD.port),
        entry("SlurmdSpoolDir", names.SLURMD_SPOOL),
        entry("MaxNodeCount", partitions.node_count(observed.nodesets, before.get("maxnodecount", ""))),
    ]


def _address(controller: Controller, pod: str) -> str:
    name, namespace = controller.metadata.name, controller.metadata.namespace
    if controller.spec.replicas == 1:
        return f"{pod}.{names.in_namespace(names.controller_internal(name), namespace)}"
    return names.in_namespace(pod, namespace)


def _logging() -> list[str]:
    return [
        entry("SlurmctldLogFile", names.SLURMCTLD_LOG),
        entry("SlurmSchedLogFile", names.SLURMCTLD_LOG),
        entry("SlurmdLogFile", names.SLURMD_LOG),
    ]


def _plugins(spec: ControllerSpec, options: dict[str, tuple[str, ...]]) -> list[str]:
    return [
        *(entry(key, plugin) for key, plugin in _AUTH),
        *(entry(key, ",".join(chosen)) for key, chosen in options.items()),
        *([entry("MetricsType", "metrics/openmetrics")] if spec.metrics.enabled else ()),
    ]


def _gres_types(controller: Controller, observed: Observed) -> list[str]:
    found = gres.types(controller, observed, _written_before(observed).get("grestypes", ""))
    return [entry("GresTypes", found)] if found else []


def _accounting(controller: Controller, observed: Observed) -> list[str]:
    ref = controller.spec.accounting_ref
    if ref is None or not ref.name:
        return [entry("AccountingStorageType", "accounting_storage/none")]
    before = _written_before(observed)
    if observed.accounting:
        at = endpoints.slurmdbd(observed.accounting)
        host, port = at.host, str(at.port)
    elif before.get("accountingstoragehost"):
        # An Accounting that is gone for a moment must not end the recording of jobs.
        host = before["accountingstoragehost"]
        port = before.get("accountingstorageport", str(names.SLURMDBD.port))
    else:
        return [entry("AccountingStorageType", "accounting_storage/none")]
    return [
        entry("AccountingStorageType", "accounting_storage/slurmdbd"),
        entry("AccountingStorageHost", host),
        entry("AccountingStoragePort", port),
    ]


def _slurmctld_scripts(spec: ControllerSpec, observed: Observed) -> list[str]:
    prologs = files.of(spec.prolog_slurmctld_script_refs, observed)
    epilogs = files.of(spec.epilog_slurmctld_script_refs, observed)
    return [
        *(entry("PrologSlurmctld", f"{names.ETC_SLURM}/{script}") for script in prologs),
        *(entry("EpilogSlurmctld", f"{names.ETC_SLURM}/{script}") for script in epilogs),
    ]


def _scripts(spec: ControllerSpec, observed: Observed) -> list[str]:
    return [
        *(entry("Prolog", script) for script in files.of(spec.prolog_script_refs, observed)),
        *(entry("Epilog", script) for script in files.of(spec.epilog_script_refs, observed)),
    ]


def _cgroup_conf() -> str:
    return text.file([entry("CgroupPlugin", "cgroup/v2"), entry("IgnoreSystemd", "yes")])

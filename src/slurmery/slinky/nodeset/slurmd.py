"""The slurmd container of a worker."""

import math
from typing import Any, Final

from slurmery.api.quantity import quantity
from slurmery.api.slinky import NodeSet
from slurmery.doors.conditions import Problem
from slurmery.doors.merge import fit, merge_container, part, port_number
from slurmery.slinky import endpoints, names
from slurmery.slinky.nodeset import conf, gres, hooks
from slurmery.slinky.nodeset.observed import Observed
from slurmery.slinky.volumes import mount, read_only
from slurmery.slurmconf import text

# Devices of jobs are fenced off with BPF programs, their processes kept in cgroups that slurmd makes.
_CAPABILITIES: Final = ("BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE")


def container(nodeset: NodeSet, observed: Observed) -> dict[str, Any]:
    """The container, with the user's laid over it."""
    fitting(nodeset)
    live = {"httpGet": {"path": names.LIVEZ, "port": names.SLURMD.name}}
    # slurmd takes all jobs along when it is restarted, and a busy node answers late: hence the long timeout.
    patient = {**live, "failureThreshold": 6, "periodSeconds": 10, "timeoutSeconds": 10}
    base = {
        "name": names.SLURMD.name,
        "args": _arguments(nodeset, observed),
        "env": _environment(nodeset),
        "ports": _ports(nodeset),
        "startupProbe": patient,
        "livenessProbe": patient,
        "readinessProbe": {"httpGet": {"path": names.READYZ, "port": names.SLURMD.name}},
        "securityContext": _privileges(nodeset),
        "lifecycle": hooks.lifecycle(),
        "volumeMounts": _mounts(nodeset),
    }
    return merge_container(base, nodeset.spec.slurmd)


def problems(nodeset: NodeSet, observed: Observed) -> tuple[Problem, ...]:
    """What is wrong with what slurmd would say about its node."""
    fitting(nodeset)
    try:
        given = conf.parameters(nodeset.spec.extra_conf)
    except conf.ConfError as error:
        return (Problem("InvalidExtraConf", f"{error}; the nodes register without any of extraConf."),)
    return gres.problems(_gres(nodeset, observed, given))


def limits(nodeset: NodeSet) -> dict[str, Any]:
    """What Kubernetes gives slurmd: the container's limits before the pod's."""
    owners = (nodeset.spec.template.spec, nodeset.spec.slurmd)
    return {name: amount for owner in owners for name, amount in part(owner, "resources", "limits").items()}


def slurm_name(nodeset: NodeSet) -> str:
    """What Slurm calls the NodeSet."""
    return names.slurm_nodeset(nodeset.metadata.name, nodeset.spec.template.spec.get("hostname") or "")


def _arguments(nodeset: NodeSet, observed: Observed) -> list[str]:
    try:
        given = conf.parameters(nodeset.spec.extra_conf)
    except conf.ConfError:
        given = {}
    found = gres.derived(_gres(nodeset, observed, given))
    port = port_number(nodeset.spec.slurmd, names.SLURMD.name, names.SLURMD.port)
    parameters = given | ({"Gres": found} if found else {})
    if port != names.SLURMD.port and not conf.value_of(given, "port"):
        parameters |= {"Port": str(port)}
    server = str(endpoints.slurmctld(observed.controller))
    return ["-Z", "--conf-server", server, "--conf", conf.argument(slurm_name(nodeset), parameters)]


def _gres(nodeset: NodeSet, observed: Observed, given: conf.Parameters) -> gres.Places:
    said, stated = conf.value_of(given, "gres"), text.settings(observed.controller.spec.extra_conf)
    types = frozenset(filter(None, stated.get("grestypes", "").split(",")))
    claims = nodeset.spec.template.spec.get("resourceClaims")
    return gres.Places(
        limits=limits(nodeset),
        given=said,
        # Where the user says nothing, the Controller does: `controller.gres`.
        types=types if "grestypes" in stated else gres.kinds(limits(nodeset), said),
        conf=gres.detection([limits(nodeset)]) if observed.gres_conf is None else observed.gres_conf,
        devices_beyond_limits=bool(claims) or _privileged(nodeset),
    )


def _environment(nodeset: NodeSet) -> list[dict[str, Any]]:
    given = limits(nodeset)
    topology = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.TOPOLOGY_SPEC}']"}}
    return [
        {"name": "SLINKY_TOPOLOGY", "valueFrom": topology},
        {"name": "POD_CPUS", "value": str(math.ceil(quantity(given.get("cpu", 0))))},
        {"name": "POD_MEMORY", "value": str(int(quantity(given.get("memory", 0))) // 1024**2)},
    ]


def _ports(nodeset: NodeSet) -> list[dict[str, Any]]:
    ports = [{"name": names.SLURMD.name, "containerPort": names.SLURMD.port, "protocol": "TCP"}]
    if nodeset.spec.ssh and nodeset.spec.ssh.enabled:
        ports.append({"name": names.SSH_PORT_NAME, "containerPort": names.SSH_PORT, "protocol": "TCP"})
    return ports


def _mounts(nodeset: NodeSet) -> list[dict[str, Any]]:
    mounts = [read_only(names.SLURM_ETC, names.ETC_SLURM), mount(names.SLURM_LOGFILE, names.LOG_DIR)]
    if nodeset.spec.ssh and nodeset.spec.ssh.enabled:
        mounts += [
            read_only(names.SSH_CONFIG, f"{names.SSH_DIR}/{names.SSHD_CONFIG}", names.SSHD_CONFIG),
            read_only(names.SSSD_CONF_VOLUME, names.SSSD_CONF_PATH, names.SSSD_CONF),
        ]
    return mounts


def _privileged(nodeset: NodeSet) -> bool:
    return part(nodeset.spec.slurmd, "securityContext").get("privileged") is not False


def _privileges(nodeset: NodeSet) -> dict[str, Any]:
    """All of them, unless the user says `privileged: false`: then what any container has by default.

    That is enough to run and to signal jobs (SETUID, SETGID, CHOWN, KILL), but not for cgroups.
    """
    if not _privileged(nodeset):
        return {"privileged": False}
    return {"privileged": True, "capabilities": {"add": list(_CAPABILITIES)}}


def fitting(nodeset: NodeSet) -> None:
    """Refuse a NodeSet whose parts have not the shape of what they are read as."""
    fit("Container", nodeset.spec.slurmd, "spec.slurmd")
    fit("PodSpec", nodeset.spec.template.spec, "spec.template.spec")

"""The ConfigMaps and JailedConfigs. `slurm_files` makes the text once, for the object and for its hash."""

from collections.abc import Iterable, Mapping

from slurmery.kube.desired import Desired
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import (
    cgroup,
    gres,
    isolation,
    limits,
    mpi,
    plugstack,
    slurm,
    sshd,
    supervisord,
)
from slurmery.nebius.kinds import JAILED_CONFIGS
from slurmery.nebius.objects import config_map, desired
from slurmery.nebius.ports import port
from slurmery.slurmconf.text import raw


def slurm_files(cluster: Cluster) -> dict[str, str]:
    """Every file that Slurm reads, by name."""
    return {
        **slurm.slurm_files(cluster),
        names.SLURM_REST_CONF: slurm.slurm_rest_conf(cluster),
        names.CGROUP_CONF: cgroup.cgroup_conf(cluster),
        names.PLUGSTACK_CONF: plugstack.plugstack_conf(cluster),
        names.GRES_CONF: gres.gres_conf(cluster),
        names.MPI_CONF: mpi.mpi_conf(cluster),
    }


def slurm_configs(cluster: Cluster, files: Mapping[str, str]) -> tuple[Desired, Desired]:
    """The files, and the order to bring them into the shared root."""
    name = cluster.names.slurm_configs
    return (
        config_map(cluster, name, names.CONTROLLER, files),
        _jailed(cluster, name, names.CONTROLLER, sorted(files)),
    )


def topology(cluster: Cluster, topology_conf: str) -> tuple[Desired, Desired]:
    """The network as Slurm sees it; a change of it is always followed by a reconfiguration."""
    name = cluster.names.topology
    return (
        config_map(cluster, name, names.CONTROLLER, {names.TOPOLOGY_CONF: topology_conf}),
        _jailed(cluster, name, names.CONTROLLER, [names.TOPOLOGY_CONF]),
    )


def login_sshd(cluster: Cluster) -> Desired | None:
    """sshd_config of login nodes, unless the user has one."""
    login = cluster.spec.slurm_nodes.login
    if login.sshd_config_map_ref_name:
        return None
    text = sshd.sshd_config(port(login.sshd, names.SSHD), directory=login.sssd is not None)
    return config_map(cluster, cluster.names.ssh_configs, names.LOGIN, {names.SSHD_CONFIG: text})


def user_isolation(cluster: Cluster) -> Desired:
    """What each user of a login node may use."""
    files = {names.USER_ISOLATION: isolation.isolation_conf(cluster.spec.slurm_nodes.login)}
    return config_map(cluster, cluster.names.user_isolation, names.LOGIN, files)


def worker_sshd(cluster: Cluster) -> Desired | None:
    """sshd_config of workers, unless the user has one. Users reach workers without naming a port."""
    worker = cluster.spec.slurm_nodes.worker
    if worker and worker.sshd_config_map_ref_name:
        return None
    directory = any(nodeset.spec.sssd is not None for nodeset in cluster.nodesets)
    text = sshd.sshd_config(names.SSHD.port, directory=directory)
    return config_map(cluster, cluster.names.ssh_configs_worker, names.WORKER, {names.SSHD_CONFIG: text})


def worker_supervisord(cluster: Cluster) -> Desired | None:
    """supervisord.conf of workers, unless the user has one."""
    worker = cluster.spec.slurm_nodes.worker
    if worker and worker.supervisord_config_map_ref_name:
        return None
    files = {names.SUPERVISORD_CONF: supervisord.supervisord_conf()}
    return config_map(cluster, cluster.names.supervisord, names.WORKER, files)


def worker_sysctl(cluster: Cluster) -> Desired:
    """Kernel parameters of workers."""
    return config_map(cluster, cluster.names.sysctl, names.WORKER, {names.SYSCTL_CONF: limits.sysctl_conf()})


def root_keys(cluster: Cluster) -> Desired:
    """The keys with which one logs in as root."""
    given = cluster.spec.slurm_nodes.login.ssh_root_public_keys
    lines = [
        line.strip()
        for index, keys in enumerate(given)
        for line in raw(f"slurmNodes.login.sshRootPublicKeys[{index}]", keys)
        if line.strip()
    ]
    files = {names.AUTHORIZED_KEYS: "\n".join(lines)}
    return config_map(cluster, cluster.names.ssh_root_keys, names.LOGIN, files)


def security_limits(cluster: Cluster, component: str, custom: str, of: str = "") -> Desired:
    """limits.conf of a component, or of a part of it by the name of `of`."""
    files = {names.LIMITS_CONF: limits.limits_conf(component, custom)}
    return config_map(cluster, cluster.names.security_limits(of or component), component, files)


def _jailed(cluster: Cluster, name: str, component: str, files: Iterable[str]) -> Desired:
    body = {
        "metadata": {"labels": {names.AGGREGATION_LABEL: names.COMMON}},
        "spec": {
            "configMap": {"name": name},
            "items": [{"key": file, "path": f"{names.JAILED_ETC_SLURM}/{file}"} for file in files],
            "updateActions": ["Reconfigure"],
        },
    }
    return desired(cluster, JAILED_CONFIGS, name, component, body)

"""sssd beside a daemon, for users from a directory service (5.0).

sssd runs as a sidecar; the daemon talks to it through sockets in a directory that both mount.
"""

from dataclasses import dataclass
from typing import Any, Final

from slurmery.api.nebius.containers import Identity, NodeContainer
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.nebius import containers, names, volumes
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.sssd import sssd_conf
from slurmery.nebius.objects import secret
from slurmery.nebius.volumes import Volume

_PRIVATE: Final = f"{names.SSSD_SOCKET_DIR}/private"
_MOUNTS: Final = (
    volumes.mount(names.SSSD_SOCKET, names.SSSD_SOCKET_DIR),
    volumes.read_only(names.SSSD_CONF, names.SSSD_CONF_DIR),
)


@dataclass(frozen=True)
class Directory:
    """What a pod needs of it; nothing where there is no directory service."""

    sidecars: tuple[dict[str, Any], ...] = ()
    mounts: tuple[Manifest, ...] = ()
    volumes: tuple[Volume, ...] = ()


def directory(sssd: NodeContainer | None, given: Identity, made: str) -> Directory:
    """sssd of a component, where it has one; `made` is the Secret that it reads unless the spec names one."""
    if sssd is None:
        return Directory()
    authority = given.sssd_ldap_ca_config_map_ref_name
    conf = {"secretName": given.sssd_conf_secret_ref_name or made, "defaultMode": 0o600}
    found: list[Volume] = [{"name": names.SSSD_CONF, "secret": conf}, volumes.scratch(names.SSSD_SOCKET)]
    mounts = list(_MOUNTS)
    if authority:
        found.append(volumes.config_map(names.SSSD_LDAP_CA, authority))
        mounts.append(volumes.read_only(names.SSSD_LDAP_CA, names.SSSD_LDAP_CA_DIR))
    return Directory((_sidecar(sssd, given.sssd_debug_level, mounts),), _MOUNTS, tuple(found))


def _sidecar(sssd: NodeContainer, level: int, mounts: list[Manifest]) -> dict[str, Any]:
    own: dict[str, Any] = {
        "restartPolicy": "Always",
        "securityContext": containers.app_armor(sssd.app_armor_profile),
        "volumeMounts": mounts,
    }
    if not sssd.command and not sssd.args:
        run = f"/usr/sbin/sssd --interactive -d {level} --logger=stderr"
        own["command"] = ["/bin/sh", "-c", f"mkdir -p -m 700 {_PRIVATE} && exec {run}"]
    return containers.daemon(sssd, names.SSSD, own)


def configuration(
    cluster: Cluster, wanted: bool, given: Identity, component: str, made: str
) -> tuple[Desired, ...]:
    """The Secret to begin with, where there is sssd and the spec names none."""
    if not wanted or given.sssd_conf_secret_ref_name:
        return ()
    return (secret(cluster, made, component, {names.SSSD_CONF_FILE: sssd_conf().encode()}, once=True),)

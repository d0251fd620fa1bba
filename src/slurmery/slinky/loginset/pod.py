"""The pod of a LoginSet: sshd and sackd, with the files that both need laid out before they start."""

from typing import Any, Final

from slurmery.api.slinky import Controller, LoginSet
from slurmery.api.slinky.shared import ConfigMapKeyRef
from slurmery.doors.merge import merge_container, merge_pod_spec
from slurmery.slinky import endpoints, names
from slurmery.slinky.loginset import hostkeys
from slurmery.slinky.volumes import (
    config_map_file,
    memory,
    mount,
    projected,
    read_only,
    secret_file,
)

# sackd wants its key to itself, which a file projected from a Secret never is.
_LAY_OUT: Final = f"""\
set -eu
umask 077
for file in {names.STAGED_CONFIG}/*.conf {names.STAGED_CONFIG}/*.key; do
  [ -e "$file" ] || continue
  copy={names.STAGED_ETC_SLURM}/${{file##*/}}
  cp -L "$file" "$copy"
  chown {names.SLURM_UID}:{names.SLURM_UID} "$copy"
  case $file in
    *.key | */slurmdbd.conf) chmod 600 "$copy" ;;
    *) chmod 644 "$copy" ;;
  esac
done
ls -l {names.STAGED_ETC_SLURM}
"""


def spec(loginset: LoginSet, controller: Controller, domain: str) -> dict[str, Any]:
    """The pod spec."""
    name, namespace = controller.metadata.name, controller.metadata.namespace
    user = loginset.spec.template.spec
    login = _login(loginset, controller)
    base = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "dnsConfig": {"searches": [names.worker_search(name, namespace, domain)]},
        # What it needs is in the login image, too.
        "initContainers": [_initconf(loginset, login.get("image", ""))],
        "containers": [login],
        "volumes": _volumes(loginset, controller),
        # On the host's network, the host's DNS would be asked, which knows no Service.
        **({"dnsPolicy": "ClusterFirstWithHostNet"} if user.get("hostNetwork") else {}),
    }
    return merge_pod_spec(base, user)


def _login(loginset: LoginSet, controller: Controller) -> dict[str, Any]:
    mounts = [
        read_only(names.SLURM_ETC, names.ETC_SLURM),
        mount(names.SACKD_DIR, names.SACK_DIR),
        *(
            read_only(names.SSH_HOST_KEYS, f"{names.SSH_DIR}/{file}", file)
            for algorithm in hostkeys.ALGORITHMS
            for file in (hostkeys.private(algorithm), hostkeys.public(algorithm))
        ),
        read_only(names.SSH_CONFIG, f"{names.SSH_DIR}/{names.SSHD_CONFIG}", names.SSHD_CONFIG),
        read_only(names.SSH_CONFIG, names.ROOT_KEYS_PATH, names.AUTHORIZED_KEYS),
        read_only(names.SSSD_CONF_VOLUME, names.SSSD_CONF_PATH, names.SSSD_CONF),
    ]
    base = {
        "name": names.LOGIN.name,
        "env": [{"name": "SACKD_OPTIONS", "value": f"--conf-server {endpoints.slurmctld(controller)}"}],
        "ports": [{"name": names.LOGIN.name, "containerPort": names.LOGIN.port, "protocol": "TCP"}],
        "readinessProbe": {"exec": {"command": ["test", "-S", names.SACK_SOCKET]}},
        "volumeMounts": mounts,
    }
    return merge_container(base, loginset.spec.login)


def _initconf(loginset: LoginSet, image: str) -> dict[str, Any]:
    base = {
        "name": names.INITCONF,
        "image": image,
        "command": ["sh", "-c", _LAY_OUT],
        "env": [{"name": "SLURM_USER", "value": names.SLURM_USER}],
        "volumeMounts": [
            mount(names.SLURM_ETC, names.STAGED_ETC_SLURM),
            read_only(names.SLURM_CONFIG, names.STAGED_CONFIG),
        ],
    }
    return merge_container(base, loginset.spec.initconf)


def _volumes(loginset: LoginSet, controller: Controller) -> list[dict[str, Any]]:
    key = controller.spec.slurm_key_ref
    own = loginset.metadata.name
    config = names.ssh_config(own)
    ssh_files = [
        config_map_file(ConfigMapKeyRef(name=config, key=file), file)
        for file in (names.SSHD_CONFIG, names.AUTHORIZED_KEYS)
    ]
    return [
        memory(names.SLURM_ETC),
        memory(names.SACKD_DIR),
        projected(names.SLURM_CONFIG, [secret_file(key, names.SLURM_KEY)] if key else [], 0o600),
        projected(names.SSH_HOST_KEYS, [_host_keys(names.ssh_host_keys(own))], 0o600),
        projected(names.SSH_CONFIG, ssh_files, 0o600),
        projected(names.SSSD_CONF_VOLUME, [secret_file(loginset.spec.sssd_conf_ref, names.SSSD_CONF)], 0o600),
    ]


def _host_keys(secret: str) -> dict[str, Any]:
    modes = {hostkeys.private: 0o600, hostkeys.public: 0o644}
    items = [
        {"key": file(algorithm), "path": file(algorithm), "mode": mode}
        for algorithm in hostkeys.ALGORITHMS
        for file, mode in modes.items()
    ]
    return {"secret": {"name": secret, "items": items}}

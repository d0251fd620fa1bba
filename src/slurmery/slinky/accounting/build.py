"""The objects of an Accounting."""

import base64
from typing import Any, Final

from slurmery.api.slinky import Accounting
from slurmery.api.slinky.shared import Labelled, SecretKeyRef
from slurmery.doors import hashes
from slurmery.doors.merge import merge_container, merge_metadata, merge_pod_spec, merge_service
from slurmery.slinky import endpoints, names, volumes
from slurmery.slinky.accounting.observed import Observed
from slurmery.slinky.security import AS_SLURM
from slurmery.slinky.volumes import mount, read_only

DAEMON: Final = names.SLURMDBD


def service(accounting: Accounting) -> dict[str, Any]:
    """The Service in front of slurmdbd."""
    metadata, template = accounting.metadata, accounting.spec.service
    spec = merge_service(
        template,
        name=DAEMON.name,
        port=endpoints.slurmdbd_port(accounting),
        selector=names.selector(DAEMON, metadata.name),
    )
    merged = merge_metadata(metadata, template.metadata, _labels(accounting))
    return {"apiVersion": "v1", "kind": "Service", "metadata": _named(accounting) | merged, "spec": spec}


def secret(accounting: Accounting, slurmdbd_conf: str) -> dict[str, Any]:
    """The Secret with slurmdbd.conf."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _named(accounting) | merge_metadata(accounting.metadata, _labels(accounting)),
        "type": "Opaque",
        "immutable": False,
        "data": {names.SLURMDBD_CONF: base64.b64encode(slurmdbd_conf.encode()).decode()},
    }


def stateful_set(accounting: Accounting, observed: Observed, slurmdbd_conf: str) -> dict[str, Any]:
    """The slurmdbd pod; it is replaced when what it reads at its start changes."""
    metadata, template = accounting.metadata, accounting.spec.template
    read_at_start = {names.SLURMDBD_CONF: slurmdbd_conf}
    if observed.jwks_hash:
        read_at_start[names.JWKS] = observed.jwks_hash
    annotations = {
        names.SLURM_KEY_HASH: observed.slurm_key_hash or "",
        names.JWT_KEY_HASH: observed.jwt_key_hash or "",
        names.SLURMDBD_CONF_HASH: hashes.of_map(read_at_start),
        names.DEFAULT_CONTAINER: DAEMON.name,
    }
    ours = _labels(accounting)
    pod = merge_metadata(metadata, template.metadata, ours, Labelled(annotations=annotations))
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _named(accounting) | merge_metadata(metadata, template.metadata, ours),
        "spec": {
            "replicas": 1,
            "podManagementPolicy": "Parallel",
            "revisionHistoryLimit": 0,
            "serviceName": names.accounting(metadata.name),
            "selector": {"matchLabels": names.selector(DAEMON, metadata.name)},
            "template": {
                "metadata": pod,
                "spec": merge_pod_spec(_pod_spec(accounting, observed), template.spec),
            },
        },
    }


def _labels(accounting: Accounting) -> Labelled:
    return Labelled(labels=names.labels(DAEMON, accounting.metadata.name))


def _named(accounting: Accounting) -> dict[str, Any]:
    return {
        "name": names.accounting(accounting.metadata.name),
        "namespace": accounting.metadata.namespace,
    }


def _pod_spec(accounting: Accounting, observed: Observed) -> dict[str, Any]:
    base = {
        "name": DAEMON.name,
        "ports": [{"name": DAEMON.name, "containerPort": DAEMON.port, "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": DAEMON.name}},
        "securityContext": AS_SLURM,
        "volumeMounts": [read_only(names.SLURM_ETC, names.ETC_SLURM), mount(names.RUN, names.RUN_DIR)],
    }
    return {
        "automountServiceAccountToken": False,
        "securityContext": {**AS_SLURM, "fsGroup": names.SLURM_UID},
        "containers": [merge_container(base, accounting.spec.slurmdbd)],
        "volumes": [
            volumes.projected(names.SLURM_ETC, _files(accounting, observed), mode=0o600),
            volumes.memory(names.RUN),
        ],
    }


def _files(accounting: Accounting, observed: Observed) -> list[dict[str, Any]]:
    spec = accounting.spec
    own = SecretKeyRef(name=names.accounting(accounting.metadata.name), key=names.SLURMDBD_CONF)
    files = [volumes.secret_file(own, names.SLURMDBD_CONF)]
    if spec.slurm_key_ref:
        files.append(volumes.secret_file(spec.slurm_key_ref, names.SLURM_KEY))
    if spec.jwt_key:
        files.append(volumes.secret_file(spec.jwt_key, names.JWT_KEY))
    if spec.jwks_key_ref and observed.jwks_hash is not None:
        files.append(volumes.config_map_file(spec.jwks_key_ref, names.JWKS))
    return files

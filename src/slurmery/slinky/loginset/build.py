"""The objects of a LoginSet."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.slinky import Controller, LoginSet
from slurmery.api.slinky.shared import Labelled
from slurmery.doors.merge import fit, merge_metadata, merge_service, port_number
from slurmery.slinky import names, sshd
from slurmery.slinky.loginset import pod
from slurmery.slurmconf import text

DAEMON: Final = names.LOGIN


def host_keys(loginset: LoginSet, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The Secret with the host keys, which is never changed again."""
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(loginset, names.ssh_host_keys(loginset.metadata.name)),
        "type": "Opaque",
        "immutable": True,
        "data": data,
    }


def ssh_files(loginset: LoginSet) -> dict[str, str]:
    """What sshd reads: its configuration and the keys that may log in as root."""
    fit("Container", loginset.spec.login, "spec.login")
    port = port_number(loginset.spec.login, DAEMON.name, DAEMON.port)
    options = [sshd.INCLUDE, sshd.USE_PAM, sshd.X11, sshd.SFTP, *sshd.port(port)]
    keys = ["#", "### SLINKY ###", *text.raw("rootSshAuthorizedKeys", loginset.spec.root_ssh_authorized_keys)]
    return {
        names.AUTHORIZED_KEYS: text.file(keys),
        names.SSHD_CONFIG: sshd.config(options, loginset.spec.extra_sshd_config),
    }


def ssh_config(loginset: LoginSet, files: Mapping[str, str]) -> dict[str, Any]:
    """The ConfigMap with what sshd reads."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(loginset, names.ssh_config(loginset.metadata.name)),
        "data": dict(files),
    }


def service(loginset: LoginSet) -> dict[str, Any]:
    """The Service that users connect to."""
    name, template = loginset.metadata.name, loginset.spec.service
    merged = merge_service(
        template, name=DAEMON.name, port=DAEMON.port, selector=names.selector(DAEMON, name)
    )
    metadata = {
        "name": name,
        "namespace": loginset.metadata.namespace,
        **merge_metadata(loginset.metadata, template.metadata, _operator(loginset)),
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": merged}


def deployment(
    loginset: LoginSet, controller: Controller, domain: str, hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The login pods; `hashes` are of what they read only when they start, by annotation."""
    name, given = loginset.metadata.name, loginset.spec
    template = given.template.metadata
    started_with = Labelled(annotations={**hashes, names.DEFAULT_CONTAINER: DAEMON.name})
    spec: dict[str, Any] = {
        "replicas": given.replicas,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": names.selector(DAEMON, name)},
        "template": {
            "metadata": merge_metadata(loginset.metadata, template, _operator(loginset), started_with),
            "spec": pod.spec(loginset, controller, domain),
        },
        **({"strategy": given.strategy} if given.strategy else {}),
    }
    metadata = {
        "name": name,
        "namespace": loginset.metadata.namespace,
        **merge_metadata(loginset.metadata, template, _operator(loginset)),
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _operator(loginset: LoginSet) -> Labelled:
    return Labelled(labels=names.labels(DAEMON, loginset.metadata.name))


def _metadata(loginset: LoginSet, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": loginset.metadata.namespace,
        **merge_metadata(loginset.metadata, _operator(loginset)),
    }

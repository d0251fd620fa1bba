"""The Secrets; the random bytes are given in, and an object that exists is never touched again."""

import base64
from collections.abc import Mapping
from typing import Final

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.resources import SECRETS
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.objects import secret

MUNGE_BYTES: Final = 1024
JWT_BYTES: Final = 32


def munge_key(cluster: Cluster, key: bytes) -> Desired:
    """The key by which the daemons of a cluster know each other."""
    return secret(cluster, cluster.names.munge, names.COMMON, {names.MUNGE_KEY_FILE: key}, once=True)


def rest_jwt_key(cluster: Cluster, key: bytes) -> Desired:
    """The key that tokens are signed with."""
    return secret(cluster, cluster.names.rest_jwt_key, names.REST, {names.REST_JWT_FILE: key}, once=True)


def sshd_keys(cluster: Cluster, files: Mapping[str, bytes]) -> Desired:
    """The host keys of sshd, which login nodes and workers share."""
    name = cluster.spec.secrets.sshd_keys_name or cluster.names.sshd_keys
    return secret(cluster, name, names.LOGIN, files, once=True)


def mariadb_password(cluster: Cluster, name: str, password: str) -> Desired:
    """A password of the database. It outlives the cluster, as the data do."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": cluster.names.namespace,
            "labels": {names.NAME_LABEL: names.APPLICATION, names.WEBHOOK_LABEL: "true"},
            "annotations": {names.CLUSTER_ANNOTATION: cluster.name},
        },
        "type": "Opaque",
        "data": {names.PASSWORD_KEY: base64.b64encode(password.encode()).decode()},
    }
    return Desired(SECRETS, manifest, Policy.CREATE_ONCE, owned=False)

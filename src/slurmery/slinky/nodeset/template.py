"""What all pods of a NodeSet have in common: a pod template, built once for however many pods."""

from typing import Any

from slurmery.api.slinky import NodeSet
from slurmery.api.slinky.shared import ConfigMapKeyRef, Labelled
from slurmery.doors import hashes
from slurmery.doors.merge import fit, merge_container, merge_metadata, merge_pod_spec, port_number
from slurmery.slinky import names, sidecars, sshd
from slurmery.slinky.nodeset import slurmd
from slurmery.slinky.nodeset.observed import Observed
from slurmery.slinky.volumes import config_map_file, memory, projected, secret_file


def build(nodeset: NodeSet, observed: Observed) -> dict[str, Any]:
    """Metadata and spec of the pods, without what tells one pod from another."""
    controller = nodeset.spec.controller_ref.name
    operator = Labelled(
        labels=names.worker_labels(nodeset.metadata.name, controller),
        annotations={**content_hashes(nodeset, observed), names.DEFAULT_CONTAINER: names.SLURMD.name},
    )
    return {
        "metadata": merge_metadata(nodeset.metadata, nodeset.spec.template.metadata, operator),
        "spec": _spec(nodeset, observed),
    }


def content_hashes(nodeset: NodeSet, observed: Observed) -> dict[str, str]:
    """Of what the pods read only when they start, by annotation."""
    read = {names.SLURM_KEY_HASH: observed.slurm_key_hash}
    if nodeset.spec.ssh and nodeset.spec.ssh.enabled:
        read[names.SSHD_CONF_HASH] = hashes.of_value(sshd_config(nodeset))
        read[names.SSSD_CONF_HASH] = observed.sssd_conf_hash
    return {annotation: digest for annotation, digest in read.items() if digest is not None}


def sshd_config(nodeset: NodeSet) -> str:
    """How users get from one node of their job to another."""
    fit("Container", nodeset.spec.slurmd, "spec.slurmd")
    port = sshd.port(port_number(nodeset.spec.slurmd, names.SSH_PORT_NAME, names.SSH_PORT))
    extra = nodeset.spec.ssh.extra_sshd_config if nodeset.spec.ssh else ""
    return sshd.config([sshd.INCLUDE, sshd.USE_PAM, sshd.SFTP, sshd.KEY_OR_PASSWORD, *port], extra)


def _spec(nodeset: NodeSet, observed: Observed) -> dict[str, Any]:
    controller, namespace = nodeset.spec.controller_ref.name, nodeset.metadata.namespace
    user = nodeset.spec.template.spec
    worker = slurmd.container(nodeset, observed)
    # What it needs is in slurmd's image, too.
    logfile = {**sidecars.logfile(names.SLURMD_LOG), "image": worker.get("image", "")}
    base = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "subdomain": names.workers(controller),
        "dnsConfig": {"searches": [names.worker_search(controller, namespace, observed.domain)]},
        "tolerations": [{"key": names.WORKER_TAINT, "operator": "Equal", "effect": "NoExecute"}],
        "initContainers": [merge_container(logfile, nodeset.spec.logfile)],
        "containers": [worker],
        "volumes": _volumes(nodeset, observed),
        # On the host's network, the host's DNS would be asked, which knows no Service.
        **({"dnsPolicy": "ClusterFirstWithHostNet"} if user.get("hostNetwork") else {}),
    }
    return merge_pod_spec(base, user)


def _volumes(nodeset: NodeSet, observed: Observed) -> list[dict[str, Any]]:
    key, ssh = observed.controller.spec.slurm_key_ref, nodeset.spec.ssh
    volumes = [
        projected(names.SLURM_ETC, [secret_file(key, names.SLURM_KEY)] if key else [], 0o600),
        memory(names.SLURM_LOGFILE),
    ]
    if ssh and ssh.enabled:
        config = ConfigMapKeyRef(name=names.ssh_config(nodeset.metadata.name), key=names.SSHD_CONFIG)
        volumes += [
            projected(names.SSH_CONFIG, [config_map_file(config, names.SSHD_CONFIG)], 0o600),
            projected(names.SSSD_CONF_VOLUME, [secret_file(ssh.sssd_conf_ref, names.SSSD_CONF)], 0o600),
        ]
    return volumes

"""The slurmctld pods: their StatefulSet, and the budget that keeps one of several running."""

from typing import Any, Final

from slurmery.api.slinky import Controller
from slurmery.api.slinky.shared import Labelled
from slurmery.doors.merge import merge_container, merge_metadata, merge_pod_spec
from slurmery.kube.meta import Manifest
from slurmery.slinky import names, sidecars, volumes
from slurmery.slinky.controller import files
from slurmery.slinky.controller.observed import Observed
from slurmery.slinky.security import AS_SLURM
from slurmery.slinky.volumes import mount, read_only

# Where the claim says nothing: what upstream's chart asks for.
_CLAIM: Final[Manifest] = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "4Gi"}},
}


def stateful_set(controller: Controller, observed: Observed, own_files: dict[str, str]) -> dict[str, Any]:
    """The StatefulSet; `own_files` are those of the ConfigMap that goes with it."""
    name, spec = controller.metadata.name, controller.spec
    labels = names.labels(names.SLURMCTLD, name)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": names.controller(name),
            "namespace": controller.metadata.namespace,
            **merge_metadata(controller.metadata, spec.template.metadata, Labelled(labels=labels)),
        },
        "spec": {
            "replicas": spec.replicas,
            # In order, a pod that cannot start would never be replaced by one that can.
            "podManagementPolicy": "Parallel",
            "revisionHistoryLimit": 0,
            "serviceName": names.controller_internal(name),
            "selector": {"matchLabels": names.selector(names.SLURMCTLD, name)},
            "template": {
                "metadata": _pod_metadata(controller, observed, own_files),
                "spec": merge_pod_spec(_pod_spec(controller, observed), spec.template.spec),
            },
            **_claim_templates(controller),
        },
    }


def disruption_budget(controller: Controller) -> dict[str, Any]:
    """At most one slurmctld at a time is taken away by those who drain Kubernetes nodes."""
    name = controller.metadata.name
    metadata = merge_metadata(controller.metadata, Labelled(labels=names.labels(names.SLURMCTLD, name)))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": names.controller(name),
            "namespace": controller.metadata.namespace,
            **metadata,
        },
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": names.selector(names.SLURMCTLD, name)},
        },
    }


def _pod_metadata(
    controller: Controller, observed: Observed, own_files: dict[str, str]
) -> dict[str, dict[str, str]]:
    labels = names.labels(names.SLURMCTLD, controller.metadata.name)
    if controller.spec.replicas == 1:
        # The only pod is the active one from its first moment; of several, we shall label it.
        labels[names.ACTIVE_LABEL] = "true"
    annotations = {
        names.SLURM_KEY_HASH: observed.slurm_key_hash or "",
        names.JWT_KEY_HASH: observed.jwt_key_hash or "",
        names.DEFAULT_CONTAINER: names.SLURMCTLD.name,
    }
    if not controller.spec.inplace_reconfigure:
        annotations[names.SLURM_CONFIG_HASH] = files.hash_of(controller, observed, own_files)
    ours = Labelled(labels=labels, annotations=annotations)
    return merge_metadata(controller.metadata, controller.spec.template.metadata, ours)


def _pod_spec(controller: Controller, observed: Observed) -> dict[str, Any]:
    spec = controller.spec
    slurmctld = merge_container(_slurmctld(controller), spec.slurmctld)
    # What a side container needs is in slurmctld's image, too.
    image = {"image": slurmctld.get("image", "")}
    beside = [merge_container({**sidecars.logfile(names.SLURMCTLD_LOG), **image}, spec.logfile)]
    if spec.inplace_reconfigure:
        beside.insert(0, merge_container({**sidecars.reconfigure(), **image}, spec.reconfigure))
    return {
        "automountServiceAccountToken": False,
        "securityContext": {**AS_SLURM, "fsGroup": names.SLURM_UID},
        "affinity": _apart(controller.metadata.name),
        "initContainers": beside,
        "containers": [slurmctld],
        "volumes": _volumes(controller, observed),
    }


def _apart(name: str) -> dict[str, Any]:
    """Never two slurmctld of a cluster on the same Kubernetes node."""
    term = {
        "labelSelector": {"matchLabels": names.selector(names.SLURMCTLD, name)},
        "topologyKey": names.HOSTNAME_TOPOLOGY,
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _slurmctld(controller: Controller) -> dict[str, Any]:
    daemon = names.SLURMCTLD
    # A standby lives but never says that it is ready: it has nothing to do yet.
    readiness = names.LIVEZ if controller.spec.replicas > 1 else names.READYZ
    alive = {"httpGet": _get(names.LIVEZ), "failureThreshold": 6, "periodSeconds": 10}
    return {
        "name": daemon.name,
        "ports": [{"name": daemon.name, "containerPort": daemon.port, "protocol": "TCP"}],
        "startupProbe": alive,
        "livenessProbe": alive,
        "readinessProbe": {"httpGet": _get(readiness)},
        "securityContext": AS_SLURM,
        "volumeMounts": [
            read_only(names.SLURM_ETC, names.ETC_SLURM),
            mount(names.RUN, names.RUN_DIR),
            mount(names.STATESAVE, names.statesave(controller.cluster_name)),
            mount(names.SLURM_AUTHSOCKET, names.AUTHSOCKET_DIR),
            mount(names.SLURM_LOGFILE, names.LOG_DIR),
        ],
    }


def _get(path: str) -> dict[str, str]:
    return {"path": path, "port": names.SLURMCTLD.name}


def _volumes(controller: Controller, observed: Observed) -> list[dict[str, Any]]:
    spec = controller.spec
    sources = [volumes.config_map_files(names.controller_config(controller.metadata.name))]
    if spec.slurm_key_ref:
        sources.append(volumes.secret_file(spec.slurm_key_ref, names.SLURM_KEY))
    if spec.jwt_key:
        sources.append(volumes.secret_file(spec.jwt_key, names.JWT_KEY))
    sources += [volumes.config_map_files(name) for name in files.named(controller)]
    if spec.jwks_key_ref and files.has_jwks(spec, observed):
        sources.append(volumes.config_map_file(spec.jwks_key_ref, names.JWKS))
    found = [
        volumes.projected(names.SLURM_ETC, sources, mode=0o610),
        volumes.memory(names.SLURM_LOGFILE),
        volumes.memory(names.RUN),
        volumes.scratch(names.SLURM_AUTHSOCKET),
    ]
    if not spec.persistence.enabled:
        found.append(volumes.scratch(names.STATESAVE))
    elif spec.persistence.existing_claim:
        found.append(volumes.claimed(names.STATESAVE, spec.persistence.existing_claim))
    return found


def _claim_templates(controller: Controller) -> dict[str, Any]:
    persistence = controller.spec.persistence
    if not persistence.enabled or persistence.existing_claim:
        return {}
    given = {name: value for name, value in persistence.inlined.items() if value not in ([], {})}
    claim = {"metadata": {"name": names.STATESAVE}, "spec": {**_CLAIM, **given}}
    return {"volumeClaimTemplates": [claim]}

"""The objects of a RestApi."""

from collections.abc import Mapping
from typing import Any

from slurmery.api.slinky import Controller, RestApi
from slurmery.api.slinky.shared import ConfigMapKeyRef, Labelled
from slurmery.doors.merge import merge_container, merge_metadata, merge_pod_spec, merge_service, port_number
from slurmery.slinky import names
from slurmery.slinky.endpoints import Endpoint
from slurmery.slinky.volumes import config_map_file, projected, read_only, secret_file

DAEMON = names.SLURMRESTD


def endpoint(restapi: RestApi) -> Endpoint:
    """Where clients anywhere in the Kubernetes cluster reach slurmrestd."""
    service = names.restapi(restapi.metadata.name)
    return Endpoint(
        names.in_namespace(service, restapi.metadata.namespace), restapi.spec.service.port or DAEMON.port
    )


def service(restapi: RestApi) -> dict[str, Any]:
    """The Service in front of all slurmrestd pods."""
    metadata, template = restapi.metadata, restapi.spec.service
    operator = Labelled(labels=names.labels(DAEMON, metadata.name))
    spec = merge_service(
        template, name=DAEMON.name, port=DAEMON.port, selector=names.selector(DAEMON, metadata.name)
    )
    merged = merge_metadata(metadata, template.metadata, operator)
    return {"apiVersion": "v1", "kind": "Service", "metadata": _named(restapi) | merged, "spec": spec}


def deployment(restapi: RestApi, controller: Controller, hashes: Mapping[str, str]) -> dict[str, Any]:
    """The slurmrestd pods; `hashes` are of what they read only when they start, by annotation."""
    metadata, template = restapi.metadata, restapi.spec.template
    operator = Labelled(labels=names.labels(DAEMON, metadata.name))
    started_with = Labelled(annotations={**hashes, names.DEFAULT_CONTAINER: DAEMON.name})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _named(restapi) | merge_metadata(metadata, template.metadata, operator),
        "spec": {
            "replicas": restapi.spec.replicas,
            "revisionHistoryLimit": 0,
            "selector": {"matchLabels": names.selector(DAEMON, metadata.name)},
            "template": {
                "metadata": merge_metadata(metadata, template.metadata, operator, started_with),
                "spec": _pod(restapi, controller),
            },
        },
    }


def _named(restapi: RestApi) -> dict[str, Any]:
    return {"name": names.restapi(restapi.metadata.name), "namespace": restapi.metadata.namespace}


def _pod(restapi: RestApi, controller: Controller) -> dict[str, Any]:
    config = names.controller_config(controller.metadata.name)
    sources = [config_map_file(ConfigMapKeyRef(name=config, key=names.SLURM_CONF), names.SLURM_CONF)]
    if controller.spec.slurm_key_ref:
        sources.append(secret_file(controller.spec.slurm_key_ref, names.SLURM_KEY))
    base = {
        "automountServiceAccountToken": False,
        "securityContext": {**_UNPRIVILEGED, "fsGroup": names.NOBODY_UID},
        "containers": [_container(restapi, controller)],
        "volumes": [projected(names.SLURM_ETC, sources, 0o600)],
    }
    return merge_pod_spec(base, restapi.spec.template.spec)


# Neither root nor Slurm's own user: slurmrestd refuses both.
_UNPRIVILEGED = {"runAsNonRoot": True, "runAsUser": names.NOBODY_UID, "runAsGroup": names.NOBODY_UID}


def _container(restapi: RestApi, controller: Controller) -> dict[str, Any]:
    answers = {"tcpSocket": {"port": DAEMON.name}}
    patient = {**answers, "failureThreshold": 6, "periodSeconds": 10}
    base = {
        "name": DAEMON.name,
        # Without accounting, the slurmdbd part would only fail.
        "args": [] if controller.spec.accounting_ref else ["-s", "openapi/slurmctld"],
        "env": [
            {"name": "SLURM_JWT", "value": "daemon"},
            {"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files,disable_unshare_sysv"},
            # Answers of many megabytes are a third smaller without blanks.
            {"name": "SLURMRESTD_JSON", "value": "compact"},
        ],
        "ports": [{"name": DAEMON.name, "containerPort": DAEMON.port, "protocol": "TCP"}],
        "startupProbe": patient,
        "livenessProbe": patient,
        "readinessProbe": answers,
        "securityContext": _UNPRIVILEGED,
        "volumeMounts": [read_only(names.SLURM_ETC, names.ETC_SLURM)],
    }
    merged = merge_container(base, restapi.spec.slurmrestd)
    port = port_number(restapi.spec.slurmrestd, DAEMON.name, DAEMON.port)
    return {**merged, "args": [*merged["args"], f"0.0.0.0:{port}"]}

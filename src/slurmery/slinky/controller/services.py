"""How slurmctld is reached, and its metrics.

Service <c>-controller             the active slurmctld
Service <c>-controller-internal    every slurmctld pod by its name, while it has an address
Service <c>-controller-<ordinal>   one of several slurmctld, also while it has no pod
"""

from typing import Any, Final

from slurmery.api.slinky import Controller
from slurmery.api.slinky.controller import MetricsEndpoint
from slurmery.api.slinky.shared import Labelled
from slurmery.doors.merge import merge_metadata, merge_service
from slurmery.kube.resources import SERVICE_MONITORS
from slurmery.slinky import endpoints, names

_DEFAULT_PATHS: Final = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")


def internal_service(controller: Controller) -> dict[str, Any]:
    """The headless Service that gives every slurmctld pod a DNS name, ready or not."""
    name = controller.metadata.name
    metadata = merge_metadata(controller.metadata, Labelled(labels=names.labels(names.SLURMCTLD, name)))
    return _service(
        controller,
        names.controller_internal(name),
        metadata,
        {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "ports": [_port(names.SLURMCTLD.name, endpoints.slurmctld_port(controller))],
            "selector": names.selector(names.SLURMCTLD, name),
        },
    )


def host_services(controller: Controller) -> list[dict[str, Any]]:
    """An address for each of several slurmctld that is there while its pod is not.

    Every command of Slurm looks up all of them first, and tries for minutes where a name is not known.
    """
    name, replicas = controller.metadata.name, controller.spec.replicas
    metadata = merge_metadata(controller.metadata, Labelled(labels=names.labels(names.SLURMCTLD, name)))
    pods = [names.controller_pod(name, ordinal) for ordinal in range(replicas)] if replicas > 1 else []
    return [
        _service(
            controller,
            pod,
            metadata,
            {
                "publishNotReadyAddresses": True,
                "ports": [_port(names.SLURMCTLD.name, endpoints.slurmctld_port(controller))],
                "selector": {**names.selector(names.SLURMCTLD, name), names.STATEFUL_POD_LABEL: pod},
            },
        )
        for pod in pods
    ]


def active_service(controller: Controller) -> dict[str, Any]:
    """The Service that leads to the active slurmctld."""
    name, template = controller.metadata.name, controller.spec.service
    listens = endpoints.slurmctld_port(controller)
    # The label on the Service itself lets monitoring pick this one of the two.
    ours = {**names.labels(names.SLURMCTLD, name), names.ACTIVE_LABEL: "true"}
    spec = merge_service(
        template,
        name=names.SLURMCTLD.name,
        port=listens,
        selector={**names.selector(names.SLURMCTLD, name), names.ACTIVE_LABEL: "true"},
    )
    if all(port["port"] != listens for port in spec["ports"]):
        # slurm.conf knows but one port, the one that slurmctld listens on.
        spec["ports"].append(_port(f"{names.SLURMCTLD.name}-cluster", listens))
    metadata = merge_metadata(controller.metadata, template.metadata, Labelled(labels=ours))
    return _service(controller, names.controller(name), metadata, spec)


def service_monitor(controller: Controller) -> dict[str, Any]:
    """What Prometheus scrapes: the active slurmctld, once."""
    name, namespace = controller.metadata.name, controller.metadata.namespace
    monitor = controller.spec.metrics.service_monitor
    paths = monitor.endpoints or tuple(MetricsEndpoint(path=path) for path in _DEFAULT_PATHS)
    metadata = merge_metadata(
        controller.metadata,
        Labelled(labels=monitor.labels, annotations=monitor.annotations),
        Labelled(labels=names.labels(names.SLURMCTLD, name)),
    )
    selector = {**names.selector(names.SLURMCTLD, name), names.ACTIVE_LABEL: "true"}
    return {
        "apiVersion": SERVICE_MONITORS.api_version,
        "kind": SERVICE_MONITORS.kind,
        "metadata": {"name": names.controller(name), "namespace": namespace, **metadata},
        "spec": {
            "namespaceSelector": {"matchNames": [namespace]},
            "selector": {"matchLabels": selector},
            "endpoints": [_endpoint(path, monitor.interval, monitor.scrape_timeout) for path in paths],
        },
    }


def _endpoint(endpoint: MetricsEndpoint, interval: str, timeout: str) -> dict[str, str]:
    times = {
        "interval": endpoint.interval or interval,
        "scrapeTimeout": endpoint.scrape_timeout or timeout,
    }
    given = {name: time for name, time in times.items() if time}
    return {"path": endpoint.path, "port": names.SLURMCTLD.name, "scheme": "http", **given}


def _port(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "port": number, "targetPort": names.SLURMCTLD.name, "protocol": "TCP"}


def _service(
    controller: Controller, name: str, metadata: dict[str, dict[str, str]], spec: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": controller.metadata.namespace, **metadata},
        "spec": spec,
    }

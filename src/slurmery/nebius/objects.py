"""Objects around their bodies: metadata, labels and who they belong to; and the kinds that are all alike."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.meta import Manifest, Resource
from slurmery.kube.resources import CONFIG_MAPS, SECRETS, SERVICES
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.names import Daemon


def named(cluster: Cluster, resource: Resource, name: str, component: str, body: Manifest) -> dict[str, Any]:
    """A manifest; labels and annotations under the body's `metadata` are added to those of the component."""
    metadata = body.get("metadata", {})
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        **body,
        "metadata": {
            **metadata,
            "name": name,
            "namespace": cluster.names.namespace,
            "labels": {**cluster.labels(component), **metadata.get("labels", {})},
        },
    }


def desired(cluster: Cluster, resource: Resource, name: str, component: str, body: Manifest) -> Desired:
    """An object of a component that follows the spec."""
    return Desired(resource, named(cluster, resource, name, component, body))


def config_map(cluster: Cluster, name: str, component: str, files: Mapping[str, str]) -> Desired:
    """A ConfigMap of files."""
    return desired(cluster, CONFIG_MAPS, name, component, {"data": dict(files)})


def secret(
    cluster: Cluster, name: str, component: str, content: Mapping[str, bytes], *, once: bool
) -> Desired:
    """A Secret; made `once`, it is never touched again."""
    data = {key: base64.b64encode(value).decode() for key, value in content.items()}
    manifest = named(cluster, SECRETS, name, component, {"type": "Opaque", "data": data})
    return Desired(SECRETS, manifest, Policy.CREATE_ONCE if once else Policy.UPDATE)


def service(cluster: Cluster, name: str, component: str, spec: Manifest) -> Desired:
    """A Service in front of a component's pods; the spec may select fewer of them."""
    selected = {"selector": cluster.selector(component), **spec}
    return desired(cluster, SERVICES, name, component, {"spec": selected})


def service_ports(daemon: Daemon, number: int, **more: Any) -> Sequence[Manifest]:
    """The port of a Service in front of a daemon."""
    return [
        {
            "name": daemon.port_name,
            "port": number,
            "targetPort": daemon.port_name,
            "protocol": "TCP",
            **more,
        }
    ]

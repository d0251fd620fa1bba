"""An API server that knows our kinds, and the rights that the chart gives."""

import json

import pytest

from dev.controlplane import ControlPlane
from slurmery.api import slinky
from slurmery.api.crd import crd
from tests.controlplane.charts.audit import NAMESPACE
from tests.unit.charts.rendering import render

# As much of the Prometheus operator as matters here.
SERVICE_MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "scope": "Namespaced",
        "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


@pytest.fixture
def plane(private_plane: ControlPlane) -> ControlPlane:
    """The chart's accounts and roles are there, and nobody else's."""
    private_plane.start_controller_manager()
    definitions = [*(crd(kind) for kind in slinky.KINDS), SERVICE_MONITORS]
    apply(private_plane, *definitions)
    names = [f"crd/{each['metadata']['name']}" for each in definitions]
    private_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)
    private_plane.kubectl("create", "namespace", NAMESPACE)
    values = {"namespaceOverride": NAMESPACE}
    rights = [each for each in render("slurmery", values) if "Role" in each["kind"]]
    apply(private_plane, *rights)
    return private_plane


def apply(plane: ControlPlane, *objects: object) -> None:
    documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=documents)

"""OpenKruise as far as our operator sees it: a CRD that takes anything, and pods that somebody made."""

from typing import Any

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Key
from slurmery.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from slurmery.nebius.sets import KRUISE
from tests.controlplane.slinky.scene import Scene

CRD = f"{KRUISE.plural}.{KRUISE.group}"


async def install(plane: ControlPlane) -> None:
    """Have the API server serve Advanced StatefulSets."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": KRUISE.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}
        },
        "subresources": {"status": {}},
    }
    manifest = {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": CRD},
        "spec": {
            "group": KRUISE.group,
            "scope": "Namespaced",
            "names": {"plural": KRUISE.plural, "kind": KRUISE.kind},
            "versions": [version],
        },
    }
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, manager="tests")
    plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{CRD}")


async def remove(plane: ControlPlane) -> None:
    """Take it away again: tests side by side share the API server."""
    async with Client(config.load(plane.kubeconfig)) as client:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, Key("", CRD))
    plane.kubectl("wait", "--for=delete", "--timeout=60s", f"crd/{CRD}")


async def seen(scene: Scene, name: str, replicas: int, revision: str) -> None:
    """Kruise's controller has seen the StatefulSet, whose pods are there and ready."""
    [live] = await scene.exists(KRUISE, name)
    status = {
        "observedGeneration": live["metadata"]["generation"],
        "replicas": replicas,
        "readyReplicas": replicas,
        "updatedReplicas": replicas,
        "updateRevision": revision,
    }
    await scene.client.patch(KRUISE, Key(scene.namespace, name), {"status": status}, subresource="status")


async def pod(scene: Scene, owner: dict[str, Any], number: int, revision: str) -> str:
    """A pod as Kruise makes it of a StatefulSet; the answer is its uid."""
    name = f"{owner['metadata']['name']}-{number}"
    template = owner["spec"]["template"]
    labels = {
        **template["metadata"]["labels"],
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    reference = {
        "apiVersion": KRUISE.api_version,
        "kind": KRUISE.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    claims = [each["metadata"]["name"] for each in owner["spec"].get("volumeClaimTemplates", ())]
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
    spec = {
        "hostname": name,
        "volumes": volumes,
        "subdomain": owner["spec"]["serviceName"],
        "containers": [{"name": each["name"], "image": "x"} for each in template["spec"]["containers"]],
    }
    metadata = {
        "name": name,
        "namespace": scene.namespace,
        "labels": labels,
        "ownerReferences": [reference],
    }
    made = await scene.client.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )
    return str(made["metadata"]["uid"])

"""What upstream's operator (1.22) leaves in a namespace for the SlurmCluster `orion`, as it shapes it.

Kruise's StatefulSets replace pods by themselves, templates have AppArmor annotations and no hashes, files
have mode 0420, and all of it was written with plain updates under the name of its program.
"""

import base64
from typing import Any

from dev.controlplane import ControlPlane
from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.meta import Resource
from slurmery.kube.resources import CONFIG_MAPS, DEPLOYMENTS, JOBS, SECRETS, SERVICES
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.nebius.sets import KRUISE

Object = dict[str, Any]

PROGRAM = "slurm_operator"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io"
MODE = 0o420
SECRET = {
    "orion-munge": ("common", {"munge.key": b"m" * 1024}),
    "orion-rest-jwt-key": ("rest", {"rest_jwt.key": b"j" * 32}),
    "orion-sshd-keys": (
        "worker",
        {
            name: name.encode()
            for kind in ("ecdsa", "ed25519", "rsa")
            for name in (f"ssh_host_{kind}_key", f"ssh_host_{kind}_key.pub")
        },
    ),
}
SERVICE = {
    "orion-controller-svc": ("controller", "slurmctld", 6817),
    "orion-worker-svc": ("worker", "slurmd", 6818),
    "orion-login-svc": ("login", "sshd", 22),
    "orion-login-headless-svc": ("login", "sshd", 22),
    "orion-accounting-svc": ("accounting", "accounting", 6819),
    "orion-rest-svc": ("rest", "slurmrestd", 6820),
}
HEADLESS = frozenset({"orion-worker-svc", "orion-login-headless-svc"})


async def leave(
    plane: ControlPlane, cluster: Object, workers: int, claims: list[Object]
) -> dict[str, Object]:
    """Make all of it; the answer is Kruise's StatefulSets by name."""
    namespace = cluster["metadata"]["namespace"]
    owner = {
        "apiVersion": SLURM_CLUSTERS.api_version,
        "kind": SLURM_CLUSTERS.kind,
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    made: dict[str, Object] = {}
    async with Client(config.load(plane.kubeconfig), user_agent=PROGRAM) as client:
        for resource, name, component, body in _objects(workers, claims):
            metadata = {
                "name": name,
                "namespace": namespace,
                "labels": {**labels(component), **body.pop("labels", {})},
                "ownerReferences": [owner],
            }
            head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
            answer = await client.create(resource, {**head, **body})
            if resource == KRUISE:
                made[name] = answer
    return made


def labels(component: str) -> Object:
    return {
        **selector(component),
        "app.kubernetes.io/part-of": "slurm-operator",
        "app.kubernetes.io/managed-by": "slurm-operator",
    }


def selector(component: str) -> Object:
    return {
        "app.kubernetes.io/name": "slurmcluster",
        "app.kubernetes.io/instance": "orion",
        "app.kubernetes.io/component": component,
    }


def _objects(workers: int, claims: list[Object]) -> list[tuple[Resource, str, str, Object]]:
    main = {"slurm.nebius.ai/controller-type": "main"}
    files = {"slurm.conf": "ClusterName=orion\nMaxNodeCount=1024", "custom_slurm.conf": "#"}
    return [
        *((SECRETS, name, component, {"data": _encoded(data)}) for name, (component, data) in SECRET.items()),
        *((SERVICES, name, given[0], _service(name, *given)) for name, given in SERVICE.items()),
        (CONFIG_MAPS, "orion-slurm-configs", "controller", {"data": files}),
        (JOBS, "orion-populate-jail", "populate-jail", _job()),
        (KRUISE, "controller", "controller", {"labels": main, **_set("controller", "slurmctld", 1, main)}),
        (KRUISE, "worker", "worker", _with(_set("worker", "slurmd", workers, {}), claims)),
        (KRUISE, "login", "login", _set("login", "sshd", 1, {})),
        (DEPLOYMENTS, "accounting", "accounting", _deployment("accounting", "accounting")),
        (DEPLOYMENTS, "rest", "rest", _deployment("rest", "slurmrestd")),
    ]


def _encoded(data: dict[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


def _service(name: str, component: str, port: str, number: int) -> Object:
    headless = {"clusterIP": "None"} if name in HEADLESS else {}
    ports = [{"name": port, "port": number, "targetPort": port, "protocol": "TCP"}]
    return {"spec": {**headless, "selector": selector(component), "ports": ports}}


def _set(component: str, container: str, replicas: int, more: Object) -> Object:
    service = "login-headless" if component == "login" else component
    rolling = {
        "podUpdatePolicy": "ReCreate" if component == "login" else "InPlaceIfPossible",
        "partition": 0,
        "minReadySeconds": 0,
    }
    return {
        "spec": {
            "replicas": replicas,
            "serviceName": f"orion-{service}-svc",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {**selector(component), **more}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "volumeClaimUpdateStrategy": {"type": "OnPodRollingUpdate"},
            "template": _template({**labels(component), **more}, container),
        }
    }


def _with(body: Object, claims: list[Object]) -> Object:
    return {"spec": {**body["spec"], "volumeClaimTemplates": claims}}


def _deployment(component: str, container: str) -> Object:
    return {
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector(component)},
            "template": _template(selector(component), container),
        }
    }


def _job() -> Object:
    template = _template(labels("populate-jail"), "populate-jail")
    template["spec"] = {**template["spec"], "restartPolicy": "Never"}
    env = [{"name": "OVERWRITE", "value": "0"}]
    template["spec"]["containers"] = [{**template["spec"]["containers"][0], "env": env}]
    return {"spec": {"parallelism": 1, "completions": 1, "template": template}}


def _template(given: Object, container: str) -> Object:
    key = {"secretName": "orion-munge", "defaultMode": MODE}
    return {
        "metadata": {
            "labels": given,
            "annotations": {
                "kubectl.kubernetes.io/default-container": container,
                f"{APP_ARMOR}/{container}": "unconfined",
            },
        },
        "spec": {
            "containers": [{"name": container, "image": "registry.example.com/upstream:1.22.1"}],
            "volumes": [{"name": "munge-key", "secret": key}],
        },
    }

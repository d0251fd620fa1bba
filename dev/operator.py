"""The operator itself in a cluster: its CRDs, and the program from its image."""

import json
from string import Template

import slurmery
from dev import paths
from dev.kubectl import Kubectl
from slurmery.api.crd import crd
from slurmery.api.fields import Manifest
from slurmery.api.kinds import registry

NAMESPACE = "slurmery-system"


def install(kubectl: Kubectl, registry_of_images: str) -> None:
    """Apply and wait until it is ready. Doing it again changes nothing."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_documents())
    text = (paths.ROOT / "dev/operator.yaml").read_text()
    image = f"{registry_of_images}/slurmery:{slurmery.__version__}"
    kubectl("apply", "--server-side", "-f", "-", stdin=Template(text).substitute(IMAGE=image))
    kubectl(f"--namespace={NAMESPACE}", "rollout", "status", "deployment/slurmery", "--timeout=120s")


def _documents() -> str:
    definitions: list[Manifest] = [crd(kind) for kind in registry()]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions})

"""The operator itself in a cluster: its CRDs, and the program from its image."""

import json
from string import Template

from dev import paths
from dev.images import Image
from dev.kubectl import Kubectl
from slurmery.api.crd import crd
from slurmery.api.fields import Manifest
from slurmery.api.kinds import registry

NAMESPACE = "slurmery-system"


def install(kubectl: Kubectl, image: Image) -> None:
    """Apply and wait until it is ready. Doing it again changes nothing, unless the image is another."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=_documents())
    text = (paths.ROOT / "dev/operator.yaml").read_text()
    values = {"IMAGE": image.ref, "CONTENT": image.archive.stem}
    kubectl("apply", "--server-side", "-f", "-", stdin=Template(text).substitute(values))
    kubectl(f"--namespace={NAMESPACE}", "rollout", "status", "deployment/slurmery", "--timeout=120s")


def _documents() -> str:
    definitions: list[Manifest] = [crd(kind) for kind in registry()]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions})

"""The operator itself in a cluster, as its charts install it: with least rights, and with its webhooks."""

import json
import time

import slurmery
from dev.helm import Helm
from dev.kubectl import Kubectl
from dev.progress import Say
from dev.refusal import Refusal

NAMESPACE = "slurmery-system"
READY_SECONDS = 120
# Harmless, and never stored: it only has to be judged.
_QUESTION = {
    "apiVersion": "slinky.slurm.net/v1beta1",
    "kind": "Token",
    "metadata": {"name": "question", "namespace": "default"},
    "spec": {"username": "nobody", "jwtKeyRef": {"name": "none", "key": "none"}},
}


def install(kubectl: Kubectl, helm: Helm, registry: str, content: str, say: Say) -> None:
    """Install and wait until it works. Doing it again changes nothing, unless the content is another."""
    say("definitions")
    helm.install("slurmery-crds", "slurmery-crds", NAMESPACE, {})
    say("operator and webhooks")
    # The tag stays the same while the source changes.
    annotated = {"podAnnotations": {"slurmery.dev/content": content}}
    # As upstream's chart does: the network is known by labels of nodes.
    switched = {"args": ["--enable-topology-controller"]}
    image = {"image": {"repository": f"{registry}/slurmery", "tag": slurmery.__version__}}
    helm.install(
        "slurmery", "slurmery", NAMESPACE, {"operator": annotated | image | switched, "webhook": annotated}
    )
    for deployment in ("slurmery", "slurmery-webhook"):
        say(f"waiting for {deployment}")
        limit = f"--timeout={READY_SECONDS}s"
        kubectl(f"--namespace={NAMESPACE}", "rollout", "status", f"deployment/{deployment}", limit)
    say("waiting for the webhooks to be trusted")
    _until_judged(kubectl)


def _until_judged(kubectl: Kubectl) -> None:
    deadline = time.monotonic() + READY_SECONDS
    question = json.dumps(_QUESTION)
    while (answer := kubectl.attempt("create", "--dry-run=server", "-f", "-", stdin=question)).returncode:
        if time.monotonic() > deadline:
            raise Refusal(f"the webhooks do not answer: {answer.stderr.strip()}")
        time.sleep(0.3)

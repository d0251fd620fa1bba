"""Protected Secrets: generated passwords that nobody may change, and nobody may delete before their cluster.

Only Secrets with the label `slurm.nebius.ai/webhook: "true"` come here. An annotation names the cluster; it
has two names, and either is enough.
"""

from typing import Any

from slurmery.admission.lookups import Answers, Seen, Unreadable, Want, served
from slurmery.admission.review import ALLOWED, Object, Request, Verdict
from slurmery.api import nebius
from slurmery.kube.meta import Key

LABEL = "slurm.nebius.ai/webhook"
ANNOTATIONS = ("slurm.nebius.ai/cluster", "slurm.nebius.ai/cluster-name")
_CLUSTERS = served(nebius.SlurmCluster)


def wants(request: Request) -> list[Want]:
    if request.operation != "DELETE":
        return []
    return [Want(_CLUSTERS, Key(request.namespace, name)) for name in _clusters(request.old_object)]


def judge(request: Request, answers: Answers) -> Verdict:
    match request.operation:
        case "CREATE" if not _clusters(request.object):
            return Verdict.denied(f"a protected Secret needs the annotation {' or '.join(ANNOTATIONS)}")
        case "UPDATE" if not _deleting(request.old_object):
            return Verdict.denied("a protected Secret cannot be changed")
        case "DELETE":
            return _deletion(answers)
    return ALLOWED


def _deletion(answers: Answers) -> Verdict:
    # A cluster that is being deleted does not count, as it may be waiting for this very Secret to go.
    for want, seen in answers.items():
        if isinstance(seen, Seen) and not seen.deleting:
            words = f"a protected Secret cannot be deleted while its cluster exists: delete {want} first"
            return Verdict.denied(words)
    unknown = [
        f"{want} could not be read: {seen.why}"
        for want, seen in answers.items()
        if isinstance(seen, Unreadable)
    ]
    return Verdict(warnings=tuple(unknown))


def _metadata(secret: Object | None) -> dict[str, Any]:
    metadata = (secret or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _clusters(secret: Object | None) -> list[str]:
    annotations = _metadata(secret).get("annotations") or {}
    return [annotations[name] for name in ANNOTATIONS if annotations.get(name)]


def _deleting(secret: Object | None) -> bool:
    return bool(_metadata(secret).get("deletionTimestamp"))

"""Revisions: what of a NodeSet, if changed, makes its pods old.

Kept as a ControllerRevision `<nodeset>-<hash>` and, on every pod, as a label with the hash. What the pods
read only when they start (keys, sshd_config) is not part of it but hashed in annotations of the pods: another
content makes a pod old, too, but is nothing to roll back to.

Not part of it: how many, where, in which partition; labels that only tell a chart's version; and what the
operator adds by itself, so that a new operator does not replace pods.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from slurmery.api.slinky import NodeSet
from slurmery.doors.merge import merge_metadata, unset
from slurmery.slinky import names

# Change with every release of a chart and mean nothing to a running pod.
CHART_LABELS: Final = frozenset({"helm.sh/chart", "app.kubernetes.io/version"})

# Kubernetes' own: without vowels, lest a hash spell something, and without digits that look like letters.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_ESCAPES: Final = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
_REPLACE: Final = {"$patch": "replace"}


def data(nodeset: NodeSet) -> dict[str, Any]:
    """The part of the spec that makes a revision."""
    spec = nodeset.spec
    labels = {key: text for key, text in spec.template.metadata.labels.items() if key not in CHART_LABELS}
    template = {
        "metadata": {"labels": labels, "annotations": spec.template.metadata.annotations},
        # A node label may well be empty, and still says something.
        "spec": _said(spec.template.spec) | {"nodeSelector": spec.template.spec.get("nodeSelector") or {}},
    }
    ssh = spec.ssh.model_dump(mode="json", by_alias=True, exclude_none=True) if spec.ssh else {}
    return {
        "spec": {
            "template": _REPLACE | template,
            "slurmd": _REPLACE | _said(spec.slurmd),
            **{
                name: _REPLACE | _said(part)
                for name, part in {"logfile": spec.logfile, "ssh": ssh}.items()
                if not unset(part)
            },
            "ordinalPadding": spec.ordinal_padding,
            "oversubscribeNode": spec.oversubscribe_node,
            **({"extraConf": spec.extra_conf} if spec.extra_conf else {}),
        }
    }


def text(nodeset: NodeSet) -> str:
    """That part as Go writes JSON.

    The API server compares revisions by their bytes, and writes them anew when an owner is changed: in any
    other spelling, that would count as a change of what must not change.
    """
    plain = json.dumps(data(nodeset), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return plain.translate(_ESCAPES)


def hash_of(nodeset: NodeSet, collisions: int = 0) -> str:
    """The hash of a revision; `collisions` is raised when another revision has the same one."""
    number = _fnv(f"{text(nodeset)}{collisions}".encode())
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def build(nodeset: NodeSet, revision: int, digest: str) -> dict[str, Any]:
    """The ControllerRevision; `revision` is its number in the history, `digest` its hash."""
    metadata = merge_metadata(nodeset.metadata)
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{nodeset.metadata.name}-{digest}",
            "namespace": nodeset.metadata.namespace,
            "annotations": metadata["annotations"],
            "labels": {
                **nodeset.spec.template.metadata.labels,
                # Upstream lists its revisions by these, but does not put them on.
                **names.worker_labels(nodeset.metadata.name, nodeset.spec.controller_ref.name),
                names.HASH_LABEL: digest,
            },
        },
        "data": data(nodeset),
        "revision": revision,
    }


def outdated(
    labels: Mapping[str, str], annotations: Mapping[str, str], revision: str, contents: Mapping[str, str]
) -> bool:
    """Whether a pod is of another revision, or was started with other contents (`content_hashes`).

    A content that a pod has no hash of is not held against it: it may come from upstream's operator.
    """
    changed = (annotations.get(name, digest) != digest for name, digest in contents.items())
    return labels.get(names.HASH_LABEL) != revision or any(changed)


def _said(value: Any) -> Any:
    """Without what is unset, so that a chart that writes out its empty defaults changes nothing."""
    if not isinstance(value, Mapping):
        return value
    return {name: _said(part) for name, part in value.items() if not unset(part)}


def _fnv(content: bytes) -> int:
    """FNV-1 of 32 bits, as Kubernetes hashes its own revisions."""
    number = 2166136261
    for byte in content:
        number = (number * 16777619 % 2**32) ^ byte
    return number

"""The manifests that make the API server ask us, for the charts and for tests.

What is fail-closed covers our own kinds and Secrets that carry our label, nothing else. Pods of others pass
by the one hook that sees them, which is fail-open and given little time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from slurmery.admission import hooks
from slurmery.admission.hooks import Hook
from slurmery.admission.review import VERSIONS
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

Manifest = dict[str, Any]
# From a hook's path to its clientConfig.
Reach = Callable[[str], Manifest]

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
OPEN_SECONDS = 2
# Nothing that is on its way out waits for us, nor does a finalizer, a label or a status.
_CONDITIONS = {
    "stays": "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)",
    "differs": "request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec)"
    " || object.spec != oldObject.spec",
}


@dataclass(frozen=True)
class Plan:
    """How the configurations of one installation are to look."""

    name: str
    reach: Reach
    hooks: tuple[Hook, ...] = hooks.ALL
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    # Namespaces to watch over; none means all but the system's.
    namespaces: tuple[str, ...] = ()
    # Where the webhook itself runs: its pods must not wait for it to be bound.
    own_namespace: str = ""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    timeout_seconds: int = 10


def by_service(service: Key, port: int = 443) -> Reach:
    """Reach the hooks through a Service."""
    return lambda path: {
        "service": {"namespace": service.namespace, "name": service.name, "port": port, "path": path}
    }


def by_url(base: str) -> Reach:
    """Reach the hooks at a URL, for a webhook that runs outside the cluster."""
    return lambda path: {"url": f"{base}{path}"}


def configurations(plan: Plan) -> list[Manifest]:
    """The ValidatingWebhookConfiguration and the MutatingWebhookConfiguration; only what has hooks."""
    both = [
        _configuration(plan, VALIDATING_WEBHOOKS, [hook for hook in plan.hooks if not hook.mutating]),
        _configuration(plan, MUTATING_WEBHOOKS, [hook for hook in plan.hooks if hook.mutating]),
    ]
    return [one for one in both if one["webhooks"]]


def _configuration(plan: Plan, resource: Resource, chosen: list[Hook]) -> Manifest:
    metadata = {"name": plan.name, "labels": dict(plan.labels), "annotations": dict(plan.annotations)}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {name: value for name, value in metadata.items() if value},
        "webhooks": [_webhook(plan, hook) for hook in chosen],
    }


def _webhook(plan: Plan, hook: Hook) -> Manifest:
    resource = "/".join(filter(None, (hook.resource.plural, hook.subresource)))
    seconds = min(plan.timeout_seconds, OPEN_SECONDS) if hook.fails_open else plan.timeout_seconds
    webhook: Manifest = {
        "name": hook.name,
        "clientConfig": plan.reach(hook.path),
        "rules": [
            {
                "apiGroups": [hook.resource.group],
                "apiVersions": [hook.resource.version],
                "operations": list(hook.operations),
                "resources": [resource],
                "scope": "Namespaced",
            }
        ],
        "failurePolicy": "Ignore" if hook.fails_open else plan.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "admissionReviewVersions": list(VERSIONS),
        "timeoutSeconds": seconds,
        "namespaceSelector": _namespaces(plan, hook),
    }
    if hook.object_selector:
        webhook["objectSelector"] = hook.object_selector
    if not hook.mutating:
        webhook["matchConditions"] = [{"name": name, "expression": cel} for name, cel in _CONDITIONS.items()]
    return webhook


def _namespaces(plan: Plan, hook: Hook) -> Manifest:
    spared = [*SYSTEM_NAMESPACES]
    if hook.subresource == "binding" and plan.own_namespace:
        spared.append(plan.own_namespace)
    name = "kubernetes.io/metadata.name"
    expressions = [{"key": name, "operator": "NotIn", "values": spared}]
    if plan.namespaces:
        expressions.append({"key": name, "operator": "In", "values": list(plan.namespaces)})
    return {"matchExpressions": expressions}

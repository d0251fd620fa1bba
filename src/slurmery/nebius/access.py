"""ServiceAccounts and what they may do."""

from collections.abc import Iterable
from dataclasses import dataclass

from slurmery.kube.desired import Desired, Policy
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.objects import desired, named

READ = ("get", "list", "watch")


@dataclass(frozen=True)
class Access:
    """An account of a component, its role, and the rules of that."""

    component: str
    account: str
    role: str
    rules: tuple[Manifest, ...]


def rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> Manifest:
    """What may be done to some resources of an API group."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def service_account(cluster: Cluster, name: str, component: str) -> Desired:
    """A ServiceAccount."""
    return desired(cluster, SERVICE_ACCOUNTS, name, component, {})


def role(cluster: Cluster, access: Access) -> Desired:
    """The Role."""
    return desired(cluster, ROLES, access.role, access.component, {"rules": list(access.rules)})


def role_binding(cluster: Cluster, access: Access, account: str) -> Desired:
    """The RoleBinding, which gives the role to an account; its role cannot be changed in place."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": cluster.names.namespace}
    body = {
        "subjects": [subject],
        "roleRef": {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": access.role},
    }
    name = names.role_binding(access.role)
    return Desired(
        ROLE_BINDINGS, named(cluster, ROLE_BINDINGS, name, access.component, body), Policy.RECREATE
    )


def granted(cluster: Cluster, access: Access, custom_account: str = "") -> tuple[Desired, ...]:
    """Account, role and binding; an account of the user's own is not made, but gets the role."""
    made = () if custom_account else (service_account(cluster, access.account, access.component),)
    binding = role_binding(cluster, access, custom_account or access.account)
    return (*made, role(cluster, access), binding)

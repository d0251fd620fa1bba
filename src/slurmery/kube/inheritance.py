"""Objects of an operator that ran before us become ours, with every field that it wrote.

It wrote plain updates, under its own name. As long as those fields count as its own, server-side apply would
never take one away that we do not want. So its entry in managedFields is made ours: what our next apply does
not say goes, as if we had written it ourselves. The same way a controller reference of its making goes.
"""

from collections.abc import Mapping
from typing import Any

from slurmery.kube.client import MANAGER, Client, Object
from slurmery.kube.desired import Desired
from slurmery.kube.ownership import ManagedFields

Fields = Mapping[str, Any]


async def take_over(client: Client, desired: Desired) -> None:
    """Make a predecessor's object ours; raises ConflictError if it changed meanwhile."""
    metadata = (await client.get(desired.resource, desired.key))["metadata"]
    patch = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": claimed(metadata["managedFields"])},
    ]
    if desired.heir_of:
        owners = [each for each in metadata["ownerReferences"] if each["uid"] != desired.heir_of]
        patch.append({"op": "replace", "path": "/metadata/ownerReferences", "value": owners})
    await client.patch(desired.resource, desired.key, patch, kind="json")


def claimed(entries: list[Object]) -> list[Object]:
    """The entries, with those of a predecessor as one of ours for each version of the API."""
    inherited = [each for each in entries if _inherited(each)]
    ours: dict[str, Object] = {}
    for entry in inherited:
        version = entry["apiVersion"]
        before = ours.get(version, {}).get("fieldsV1", {})
        fields = {"fieldsType": "FieldsV1", "fieldsV1": _union(before, entry["fieldsV1"])}
        ours[version] = {"manager": MANAGER, "operation": "Apply", "apiVersion": version, **fields}
    return [*(each for each in entries if each not in inherited), *ours.values()]


def _inherited(entry: Object) -> bool:
    return ManagedFields(entry["manager"], entry["operation"], entry.get("subresource", "")).inherited


def _union(one: Fields, other: Fields) -> dict[str, Any]:
    both = {name: _union(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **both}

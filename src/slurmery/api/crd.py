"""CustomResourceDefinitions of our kinds."""

from slurmery.api.fields import Manifest
from slurmery.api.resource import CustomResource
from slurmery.api.schema import rendered, resource_schema


def crd(*versions: type[CustomResource]) -> Manifest:
    """The definition of one kind; with several versions of it, the last is stored."""
    place = versions[-1].place
    names = {
        "kind": place.kind,
        "listKind": f"{place.kind}List",
        "plural": place.plural,
        "singular": place.kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{place.plural}.{place.group}"},
        "spec": {
            "group": place.group,
            "names": names | ({"shortNames": list(place.short_names)} if place.short_names else {}),
            "scope": "Namespaced",
            "versions": [_version(kind, stored=kind is versions[-1]) for kind in versions],
        },
    }


def _version(kind: type[CustomResource], *, stored: bool) -> Manifest:
    place = kind.place
    subresources: Manifest = {"status": {}} if place.status else {}
    if place.scale:
        subresources["scale"] = place.scale.rendered()
    return {
        "name": place.version,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": rendered(resource_schema(kind))},
        "additionalPrinterColumns": [column.rendered() for column in place.columns],
        "subresources": subresources,
    }

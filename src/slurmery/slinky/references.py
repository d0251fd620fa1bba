"""Which objects a spec names: the index by which a changed object finds its users without a search.

It reads specs as they were written, so that an object that does not fit its model is found as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from slurmery.doors.views import Custom
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS

USES: Final = "uses"

Reference = tuple[Resource, Key]

# Fields that hold an object with a `name`, or several of them.
_FIELDS: Final[Mapping[str, Resource]] = {
    "controllerRef": CONTROLLERS,
    "accountingRef": ACCOUNTINGS,
    "slurmKeyRef": SECRETS,
    "jwtKeyRef": SECRETS,
    "jwtHs256KeyRef": SECRETS,
    "sssdConfRef": SECRETS,
    "passwordKeyRef": SECRETS,
    "secretRef": SECRETS,
    "jwksKeyRef": CONFIG_MAPS,
    "configFileRefs": CONFIG_MAPS,
    "prologScriptRefs": CONFIG_MAPS,
    "epilogScriptRefs": CONFIG_MAPS,
    "prologSlurmctldScriptRefs": CONFIG_MAPS,
    "epilogSlurmctldScriptRefs": CONFIG_MAPS,
}


def uses(view: Custom) -> Iterable[Reference]:
    """The index: everything in its namespace that the object's spec names."""
    namespace = view.metadata.namespace
    spec = {**view.spec, **(view.spec.get("storageConfig") or {}), **(view.spec.get("ssh") or {})}
    named = {(_FIELDS[field], name) for field in _FIELDS.keys() & spec.keys() for name in _names(spec[field])}
    claim = (spec.get("persistence") or {}).get("existingClaim")
    if claim:
        named.add((PERSISTENT_VOLUME_CLAIMS, claim))
    return [(resource, Key(namespace, name)) for resource, name in named]


def _names(value: Any) -> Iterable[str]:
    refs = value if isinstance(value, list) else [value]
    return [ref["name"] for ref in refs if ref and ref.get("name")]

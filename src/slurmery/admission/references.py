"""Where our kinds name other objects, and what is said when those are missing.

Manifests of one release are applied in any order and Secrets often come from elsewhere, so a missing object
is worth a warning and no more; the few that must be there are judged with their kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from slurmery.admission.lookups import Answers, Unreadable, Want, served
from slurmery.admission.review import Object
from slurmery.api import nebius, slinky
from slurmery.api.resource import CustomResource
from slurmery.api.validation import Problem
from slurmery.kube.meta import Key, Resource
from slurmery.kube.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS


@dataclass(frozen=True)
class Pointer:
    """A field of a spec that names an object in the same namespace: a text, or `name`, `key`, `optional`.

    `[]` in the path stands for each item of a list. `key` is one that the object must have, for fields that
    do not say it. The field counts only where the one at `only_if` is true.
    """

    path: str
    resource: Resource
    key: str = ""
    only_if: str = ""


@dataclass(frozen=True)
class Reference:
    """One object that a manifest names, where, and which of its keys is used."""

    path: str
    want: Want
    key: str


_CONTROLLER = served(slinky.Controller)
_KEYS = (
    Pointer("slurmKeyRef", SECRETS),
    Pointer("jwtKeyRef", SECRETS),
    Pointer("jwtHs256KeyRef", SECRETS),
    Pointer("jwksKeyRef", CONFIG_MAPS),
)
_SCRIPTS = ("prologScriptRefs", "epilogScriptRefs", "prologSlurmctldScriptRefs", "epilogSlurmctldScriptRefs")
_DATABASE = "slurmNodes.accounting.externalDB"


def _identity(owner: str = "") -> tuple[Pointer, ...]:
    return (
        Pointer(f"{owner}sssdConfSecretRefName", SECRETS),
        Pointer(f"{owner}sssdLdapCAConfigMapRefName", CONFIG_MAPS),
    )


_POINTERS: Mapping[type[CustomResource], tuple[Pointer, ...]] = {
    slinky.Controller: (
        *_KEYS,
        Pointer("accountingRef", served(slinky.Accounting)),
        Pointer("persistence.existingClaim", PERSISTENT_VOLUME_CLAIMS),
        *(Pointer(f"{scripts}[]", CONFIG_MAPS) for scripts in _SCRIPTS),
    ),
    slinky.Accounting: (*_KEYS, Pointer("storageConfig.passwordKeyRef", SECRETS)),
    slinky.NodeSet: (
        Pointer("controllerRef", _CONTROLLER),
        Pointer("ssh.sssdConfRef", SECRETS, only_if="ssh.enabled"),
    ),
    slinky.LoginSet: (Pointer("controllerRef", _CONTROLLER), Pointer("sssdConfRef", SECRETS)),
    slinky.RestApi: (Pointer("controllerRef", _CONTROLLER),),
    slinky.Token: (Pointer("jwtKeyRef", SECRETS), Pointer("jwtHs256KeyRef", SECRETS)),
    nebius.SlurmCluster: (
        Pointer("secrets.sshdKeysName", SECRETS),
        Pointer("volumeSources[].persistentVolumeClaim.claimName", PERSISTENT_VOLUME_CLAIMS),
        Pointer("partitionConfiguration.partitions[].nodeSetRefs[]", served(nebius.NodeSet)),
        Pointer("slurmNodes.worker.supervisordConfigMapRefName", CONFIG_MAPS),
        Pointer("slurmNodes.worker.sshdConfigMapRefName", CONFIG_MAPS),
        Pointer("slurmNodes.login.sshdConfigMapRefName", CONFIG_MAPS),
        *_identity("slurmNodes.controller."),
        *_identity("slurmNodes.login."),
        Pointer(f"{_DATABASE}.passwordSecretKeyRef", SECRETS, only_if=f"{_DATABASE}.enabled"),
        Pointer(f"{_DATABASE}.tls.serverCASecretRef", SECRETS, "ca.crt", only_if=f"{_DATABASE}.enabled"),
        Pointer(f"{_DATABASE}.tls.clientCertSecretRef", SECRETS, "tls.crt", only_if=f"{_DATABASE}.enabled"),
    ),
    nebius.NodeSet: (
        Pointer("clusterName", served(nebius.SlurmCluster)),
        Pointer("slurmd.volumes.jail.persistentVolumeClaim.claimName", PERSISTENT_VOLUME_CLAIMS),
        Pointer("configMapRefSupervisord", CONFIG_MAPS),
        Pointer("configMapRefSshd", CONFIG_MAPS),
        *_identity(),
    ),
}


def references(kind: type[CustomResource], manifest: Object) -> list[Reference]:
    """The objects that a manifest names; what is misspelt or optional is left out."""
    spec, namespace = manifest.get("spec"), manifest["metadata"].get("namespace", "")
    return [
        Reference(path, Want(pointer.resource, Key(namespace, name)), key)
        for pointer in _POINTERS.get(kind, ())
        if not pointer.only_if or any(on is True for _, on in found(spec, pointer.only_if))
        for path, value in found(spec, pointer.path)
        for name, key in _named(value, pointer.key)
    ]


def found(spec: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values at a path below `spec`, each with its own path: `a[].b` gives `spec.a[0].b` and so on."""
    return _below(spec, path.split("."), "spec")


def warnings(named: list[Reference], answers: Answers) -> Iterator[Problem]:
    """What a person should know of objects that are missing, lack a key or could not be read."""
    for reference in named:
        want, seen = reference.want, answers[reference.want]
        if isinstance(seen, Unreadable):
            yield Problem(reference.path, f"{want} could not be checked: {seen.why}", warning=True)
        elif seen is None:
            yield Problem(reference.path, f"{want} does not exist yet", warning=True)
        elif reference.key and reference.key not in seen.keys:
            yield Problem(reference.path, f"{want} has no key {reference.key} yet", warning=True)


def _below(value: Any, steps: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield path, value
        return
    step, *rest = steps
    name = step.removesuffix("[]")
    if not isinstance(value, dict) or value.get(name) is None:
        return
    part = value[name]
    if step == name:
        yield from _below(part, rest, f"{path}.{name}")
    elif isinstance(part, list):
        for index, item in enumerate(part):
            yield from _below(item, rest, f"{path}.{name}[{index}]")


def _named(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value.get("optional") is not True:
        value, key = value.get("name"), str(value.get("key") or key)
    if isinstance(value, str) and value:
        yield value, key

"""The files that users put beside slurm.conf: which ConfigMaps they name, and what is in them."""

from collections.abc import Iterable
from itertools import chain
from typing import Final

from slurmery.api.slinky import Controller
from slurmery.api.slinky.controller import ControllerSpec
from slurmery.api.slinky.shared import LocalRef
from slurmery.doors import hashes
from slurmery.doors.conditions import Problem
from slurmery.slinky import names
from slurmery.slinky.controller.observed import Observed

# A user's file by one of these names would hide ours.
_RESERVED: Final = frozenset(
    {names.SLURM_CONF, names.SLURMDBD_CONF, names.SLURM_KEY, names.JWT_KEY, names.JWKS}
)


def named(controller: Controller) -> tuple[str, ...]:
    """The ConfigMaps whose every key becomes a file, each once, by name."""
    spec = controller.spec
    refs = chain(
        spec.config_file_refs,
        spec.prolog_script_refs,
        spec.epilog_script_refs,
        spec.prolog_slurmctld_script_refs,
        spec.epilog_slurmctld_script_refs,
    )
    return tuple(sorted({ref.name for ref in refs if ref.name}))


def of(refs: Iterable[LocalRef], observed: Observed) -> list[str]:
    """The file names in these ConfigMaps."""
    return sorted({key for ref in refs for key in observed.config_maps.get(ref.name, {})})


def has_jwks(spec: ControllerSpec, observed: Observed) -> bool:
    """Whether there is a JSON web key set to check tokens of others with."""
    ref = spec.jwks_key_ref
    return ref is not None and ref.key in observed.config_maps.get(ref.name, {})


def missing(controller: Controller, observed: Observed) -> list[Problem]:
    """ConfigMaps and keys that are named but do not exist."""
    problems = [
        Problem("ConfigMapNotFound", f"ConfigMap {name} does not exist, but the spec names it.")
        for name in named(controller)
        if name not in observed.config_maps
    ]
    ref = controller.spec.jwks_key_ref
    if ref and not ref.optional and not has_jwks(controller.spec, observed):
        message = f"ConfigMap {ref.name} with key {ref.key}, named by jwksKeyRef, does not exist."
        problems.append(Problem("ConfigMapNotFound", message))
    return problems


def reserved(controller: Controller, observed: Observed) -> list[Problem]:
    """Files that would hide those the operator writes."""
    return [
        Problem("ReservedFile", f"ConfigMap {name} has the key {key}, a file that the operator writes.")
        for name in named(controller)
        for key in sorted(_RESERVED & observed.config_maps.get(name, {}).keys())
    ]


def doubled(controller: Controller, observed: Observed) -> list[Problem]:
    """Files that are in several ConfigMaps, so that one hides the others."""
    holders: dict[str, list[str]] = {}
    for name in named(controller):
        for key in observed.config_maps.get(name, {}):
            holders.setdefault(key, []).append(name)
    return [
        Problem("DuplicateFile", f"The file {key} is in the ConfigMaps {', '.join(found)}: the last is used.")
        for key, found in sorted(holders.items())
        if len(found) > 1
    ]


def hash_of(controller: Controller, observed: Observed, own: dict[str, str]) -> str:
    """The hash of all files that slurmctld reads, ours and the users'."""
    ref = controller.spec.jwks_key_ref
    shown = [(name, key) for name in named(controller) for key in observed.config_maps.get(name, {})]
    if ref and has_jwks(controller.spec, observed):
        shown.append((ref.name, ref.key))
    # With their names, as a file that is only renamed has changed too.
    theirs = {f"{name}/{key}": f"{name}/{key}\n{observed.config_maps[name][key]}" for name, key in shown}
    return hashes.of_map(own | theirs)

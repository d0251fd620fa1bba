"""Reviews as the API server sends them, and objects as look-ups find them."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from slurmery.admission.hooks import ALL, Hook
from slurmery.admission.lookups import Answer, Answers, Seen, Want
from slurmery.admission.review import Object, Operation, Request, Verdict
from slurmery.kube.resources import CONFIG_MAPS

NAMESPACE = "slurm"
SLINKY = "/validate-slinky-slurm-net-v1beta1-"
KEY = {"name": "keys", "key": "key"}
KEYED = {"slurmKeyRef": KEY, "jwtKeyRef": KEY}
REF = {"controllerRef": {"name": "slurm"}}
BY_PATH = {hook.path: hook for hook in ALL}


def manifest(kind: str, spec: Any, name: str = "x", version: str = "slinky.slurm.net/v1beta1") -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def creation(new: Object) -> Request:
    return Request("u", "CREATE", "x", NAMESPACE, new)


def update(old: Object, new: Object) -> Request:
    return Request("u", "UPDATE", "x", NAMESPACE, new, old)


def seen(**parts: Any) -> Seen:
    return msgspec.json.decode(msgspec.json.encode({"metadata": {"name": "x"}, **parts}), type=Seen)


def holding(*keys: str) -> Seen:
    """A Secret or ConfigMap with these keys."""
    return seen(data=dict.fromkeys(keys, ""))


def judged(hook: Hook, request: Request, known: Callable[[Want], Answer] = lambda _: None) -> Verdict:
    """The verdict in a world where look-ups give what `known` says."""
    return hook.judge(request, {want: known(want) for want in hook.wants(request)})


async def nothing_exists(wants: Iterable[Want]) -> Answers:
    return dict.fromkeys(wants)


def patched(given: Object, patch: Iterable[Operation]) -> Object:
    """The object after a patch, as the API server applies it."""
    result: Object = msgspec.json.decode(msgspec.json.encode(given))
    for operation in patch:
        *parents, last = operation.steps
        part = result
        for step in parents:
            part = part[step]
        part[last] = operation.value
    return result


def everything(want: Want) -> Answer:
    """A world with all that is asked for."""
    if want.resource == CONFIG_MAPS:
        return holding("gres.conf")
    return seen(data={"key": ""}, spec={"accessModes": ["ReadWriteMany"]})


def nothing(_: Want) -> Answer:
    return None


def on(kind: str, known: Any = everything, **spec: Any) -> Verdict:
    """The verdict on the creation of an object of slinky.slurm.net."""
    return judged(BY_PATH[f"{SLINKY}{kind.lower()}"], creation(manifest(kind, spec)), known)


def controller(known: Any = everything, **spec: Any) -> Verdict:
    return on("Controller", known, **KEYED, **spec)

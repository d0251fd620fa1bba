"""What a user wrote, laid over what we generate.

    base  (generated)   privileged: true   env: [A=1]        args: [-Z]    tolerations: [worker]
    user  (spec)        privileged: false  env: [A=2, B=3]   args: [-v]    tolerations: [gpu]
    result              privileged: false  env: [A=2, B=3]   args: [-Z,-v] tolerations: [worker, gpu]

The user wins, also with `false` and `0`. Unset are null, "", [] and {}, because charts write them for what
was not chosen. Lists of named things are merged by their key; what Slurm needs to work (tolerations, pod
affinity terms, DNS searches) is added to and not replaced; every other list is replaced.

    MergeError      the user's part has the wrong shape: a person must change it
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from slurmery.api.slinky.shared import ServiceTemplate
from slurmery.doors.shape import misfit
from slurmery.kube.meta import Manifest

# Notes of other tools about the very object that carries them; on a child they would mislead those tools.
NOT_INHERITED = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id", "slurmery/applied"}
)

Value = Any
Strategy = Callable[[Value, Value, str], Value]


class MergeError(ValueError):
    """The user's part has the wrong shape; the text says where."""


class Labelled(Protocol):
    """Anything with labels and annotations."""

    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def annotations(self) -> Mapping[str, str]: ...


def merge_metadata(*layers: Labelled) -> dict[str, dict[str, str]]:
    """Labels and annotations of all layers; the later layer wins."""
    labels = {key: text for layer in layers for key, text in layer.labels.items()}
    annotations = {key: text for layer in layers for key, text in layer.annotations.items()}
    return {
        "labels": labels,
        "annotations": {key: text for key, text in annotations.items() if key not in NOT_INHERITED},
    }


def merge_container(base: Manifest, user: Manifest) -> dict[str, Any]:
    """A generated container with the user's laid over it."""
    path = f"spec.{base['name']}"
    fit("Container", user, path)
    merged: dict[str, Any] = _container(base, user, path)
    return merged


def merge_pod_spec(base: Manifest, user: Manifest) -> dict[str, Any]:
    """A generated pod spec with the user's laid over it."""
    path = "spec.template.spec"
    fit("PodSpec", user, path)
    merged: dict[str, Any] = _POD_SPEC(base, user, path)
    # A label may well be empty, as node-role.kubernetes.io/worker is.
    selector = user.get("nodeSelector")
    return {**merged, "nodeSelector": {**base.get("nodeSelector", {}), **selector}} if selector else merged


def merge_service(
    template: ServiceTemplate, *, name: str, port: int, selector: Mapping[str, str]
) -> dict[str, Any]:
    """A Service spec: the user's, with the daemon's port (a named container port) and our selector."""
    fit("ServiceSpec", template.spec, "spec.service.spec")
    user = _taken(template.spec)
    ours: dict[str, Any] = {
        "name": name,
        "port": template.port or port,
        "targetPort": name,
        "protocol": "TCP",
    }
    if template.node_port:
        ours["nodePort"] = template.node_port
        user = {"type": "NodePort", **user}
    ports = [*user.get("ports", []), ours]
    _distinct([str(each.get("name", "")) for each in ports], "name")
    _distinct([f"{each.get('port')}/{each.get('protocol', 'TCP')}" for each in ports], "number")
    kept = {field: value for field, value in user.items() if field != "externalIPs"}
    return {**kept, "ports": ports, "selector": {**user.get("selector", {}), **selector}}


def _distinct(values: list[str], what: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise MergeError(f"spec.service.spec.ports: the port {what} {value!r} is there twice")


def unset(value: Value) -> bool:
    """Whether nothing was said: null, an empty text or list, or a map of nothing but such."""
    if isinstance(value, Mapping):
        return all(unset(each) for each in value.values())
    return value is None or value in ("", [])


def part(user: Manifest, *path: str) -> Manifest:
    """An object inside the user's part; empty where there is none."""
    for name in path:
        user = user.get(name) or {}
    return user


def port_number(user: Manifest, name: str, port: int) -> int:
    """Where a daemon listens: users move it with a container port of its name."""
    ports = (each for each in user.get("ports") or () if each.get("name") == name)
    return next((int(each["containerPort"]) for each in ports if each.get("containerPort")), port)


def fit(kind: str, user: Manifest, path: str) -> None:
    """Refuse what has not the shape of that core/v1 type."""
    if complaint := misfit(f"io.k8s.api.core.v1.{kind}", user, path):
        raise MergeError(complaint)


def _taken(value: Value) -> Value:
    """A value that meets no base, without what is unset. Lists are taken as they are."""
    if not isinstance(value, Mapping):
        return value
    return {name: _taken(each) for name, each in value.items() if not unset(each)}


def _fields(strategies: Mapping[str, Strategy]) -> Strategy:
    """Maps merge field by field: by the field's strategy, else the user's value wins."""

    def merge(base: Value, user: Value, path: str) -> Value:
        merged = dict(base)
        for name, value in user.items():
            if not unset(value):
                strategy = strategies.get(name, _deep) if name in merged else _new
                merged[name] = strategy(merged.get(name), value, f"{path}.{name}")
        return merged

    return merge


def _new(base: Value, user: Value, path: str) -> Value:  # noqa: ARG001
    return _taken(user)


def _deep(base: Value, user: Value, path: str) -> Value:
    return _plain(base, user, path) if isinstance(base, Mapping) else user


_plain = _fields({})


def _keyed(keys: tuple[str, ...], item: Strategy) -> Strategy:
    """Lists whose items are the same thing when any one of the keys is the same."""

    def merge(base: Value, user: Value, path: str) -> Value:
        merged = list(base)
        for index, theirs in enumerate(user):
            where = f"{path}[{index}]"
            if all(unset(theirs.get(key)) for key in keys):
                raise MergeError(f"{where} needs a {keys[0]}")
            place = next((at for at, ours in enumerate(merged) if _same(ours, theirs, keys)), None)
            if place is None:
                merged.append(theirs)
            else:
                merged[place] = item(merged[place], theirs, where)
        return merged

    return merge


def _same(ours: Manifest, theirs: Manifest, keys: tuple[str, ...]) -> bool:
    return any(not unset(theirs.get(key)) and ours.get(key) == theirs[key] for key in keys)


def _user(base: Value, user: Value, path: str) -> Value:  # noqa: ARG001
    return user


def _added(base: Value, user: Value, path: str) -> Value:  # noqa: ARG001
    return [*base, *(each for each in user if each not in base)]


def _after(base: Value, user: Value, path: str) -> Value:  # noqa: ARG001
    return [*base, *user]


def _choice(base: Value, user: Value, path: str) -> Value:
    """One of several members: another one than the base's replaces it, the same one is merged."""
    chosen = user.keys() - {"name"}
    return user if chosen and not chosen & base.keys() else _plain(base, user, path)


def _port(base: Value, user: Value, path: str) -> Value:
    """A port keeps its name: Services and probes find it by that."""
    return _plain(base, {**user, "name": base.get("name")}, path)


_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})


def _handled(base: Value, user: Value, path: str) -> Value:  # noqa: ARG001
    """A probe or hook: the user's handler replaces the base's; without one the base's stays."""
    theirs = _taken(user)
    chosen = _HANDLERS & theirs.keys()
    kept = {name: value for name, value in base.items() if not chosen or name not in _HANDLERS}
    return {**kept, **theirs}


def _secured(base: Value, user: Value, path: str) -> Value:
    """A security context: whoever asks for uid 0 need not also take back that it must not be 0."""
    merged = _plain(base, user, path)
    allows_root = user.get("runAsUser") == 0 and user.get("runAsNonRoot") is None
    return {**merged, "runAsNonRoot": False} if allows_root else merged


_probes: dict[str, Strategy] = dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _handled)
_container = _fields(
    {
        **_probes,
        "args": _after,
        "env": _keyed(("name",), _user),
        "lifecycle": _fields({"postStart": _handled, "preStop": _handled}),
        "ports": _keyed(("containerPort", "name"), _port),
        "resources": _fields({"claims": _keyed(("name",), _plain)}),
        "securityContext": _secured,
        "volumeDevices": _keyed(("devicePath",), _user),
        "volumeMounts": _keyed(("mountPath",), _user),
    }
)
_TERMS = _fields(
    dict.fromkeys(
        ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"),
        _added,
    )
)
_POD_SPEC = _fields(
    {
        # Required node affinity is left to the user: its terms are alternatives, ours would widen theirs.
        "affinity": _fields({"podAffinity": _TERMS, "podAntiAffinity": _TERMS}),
        "containers": _keyed(("name",), _container),
        "dnsConfig": _fields(
            {"nameservers": _added, "searches": _added, "options": _keyed(("name",), _user)}
        ),
        "hostAliases": _keyed(("ip",), _plain),
        "imagePullSecrets": _keyed(("name",), _plain),
        "initContainers": _keyed(("name",), _container),
        "resourceClaims": _keyed(("name",), _choice),
        "securityContext": _secured,
        "tolerations": _added,
        "topologySpreadConstraints": _added,
        "volumes": _keyed(("name",), _choice),
    }
)

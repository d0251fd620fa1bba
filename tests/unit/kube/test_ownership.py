import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.kube.ownership import ANNOTATION, Footprint, drift, missing, sign

# What a real API server answered for this very manifest.
STATEFULSET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "labels": {},
        "annotations": {"x": "y"},
        "finalizers": ["a/b"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "abc"}],
    },
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}],
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        ],
                        "resources": {"limits": {"cpu": "1000m"}},
                        "command": ["a", "b"],
                        "securityContext": {},
                        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    }
                ],
                "tolerations": [{"key": "k"}],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "affinity": None,
                "initContainers": [],
            },
        },
    },
}
FIELDS: dict[str, Any] = {
    "f:metadata": {
        "f:annotations": {"f:x": {}},
        "f:labels": {},
        "f:finalizers": {'v:"a/b"': {}},
        "f:ownerReferences": {'k:{"uid":"abc"}': {}},
    },
    "f:spec": {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:command": {},
                        "f:env": {
                            'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}},
                            'k:{"name":"B"}': {".": {}, "f:name": {}, "f:valueFrom": {"f:fieldRef": {}}},
                        },
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            'k:{"containerPort":53,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            'k:{"containerPort":53,"protocol":"UDP"}': {
                                ".": {},
                                "f:containerPort": {},
                                "f:protocol": {},
                            },
                        },
                        "f:resources": {"f:limits": {"f:cpu": {}}},
                        "f:securityContext": {},
                        "f:volumeMounts": {
                            'k:{"mountPath":"/v"}': {".": {}, "f:mountPath": {}, "f:name": {}}
                        },
                    }
                },
                "f:tolerations": {},
                "f:volumes": {'k:{"name":"v"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
            },
        },
    },
}
CONTAINER = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"c"}')


def without(fields: dict[str, Any], *path: str) -> dict[str, Any]:
    """The set after somebody else changed a field: it is gone, and so are parents that became empty."""
    pruned = copy.deepcopy(fields)
    parents = [pruned]
    for name in path[:-1]:
        parents.append(parents[-1][name])
    for parent, name in zip(reversed(parents), reversed(path), strict=True):
        if name == path[-1] or not parent[name]:
            del parent[name]
    return pruned


def footprint(manifest: Any, fields: Any, **entry: str) -> Footprint:
    managed = {"manager": "slurmery", "operation": "Apply", "apiVersion": "apps/v1", **entry}
    theirs = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsV1": {"f:spec": {}},
    }
    metadata = {**manifest["metadata"], "managedFields": [theirs, {**managed, "fieldsV1": fields}]}
    return msgspec.json.decode(msgspec.json.encode({**manifest, "metadata": metadata}), type=Footprint)


def signed_fields() -> dict[str, Any]:
    fields = copy.deepcopy(FIELDS)
    fields["f:metadata"]["f:annotations"][f"f:{ANNOTATION}"] = {}
    return fields


def test_everything_applied_is_owned() -> None:
    assert missing(STATEFULSET, FIELDS) is None


@pytest.mark.parametrize(
    ("path", "lost"),
    [
        (("f:spec", "f:replicas"), "spec.replicas"),
        (("f:spec", "f:selector"), "spec.selector"),
        (("f:metadata", "f:annotations", "f:x"), "metadata.annotations"),
        (("f:metadata", "f:finalizers", 'v:"a/b"'), "metadata.finalizers"),
        (("f:metadata", "f:ownerReferences", 'k:{"uid":"abc"}'), "metadata.ownerReferences"),
        ((*CONTAINER, "f:image"), "spec.template.spec.containers[c].image"),
        ((*CONTAINER, "f:env", 'k:{"name":"A"}', "f:value"), "spec.template.spec.containers[c].env[A].value"),
        ((*CONTAINER, "f:env", 'k:{"name":"A"}'), "spec.template.spec.containers[c].env"),
        ((*CONTAINER, "f:resources", "f:limits", "f:cpu"), "spec.template.spec.containers[c].resources"),
        ((*CONTAINER, "f:ports", 'k:{"containerPort":53,"protocol":"TCP"}'), None),
        ((*CONTAINER, "f:ports", 'k:{"containerPort":53,"protocol":"UDP"}'), None),
        ((*CONTAINER, "f:securityContext"), "spec.template.spec.containers[c].securityContext"),
        (("f:spec", "f:template", "f:spec", "f:tolerations"), "spec.template.spec.tolerations"),
    ],
)
def test_a_field_that_somebody_changed_is_named(path: tuple[str, ...], lost: str | None) -> None:
    assert missing(STATEFULSET, without(FIELDS, *path)) == (lost or "spec.template.spec.containers[c].ports")


def test_fields_beyond_the_manifest_are_no_concern_of_this_comparison() -> None:
    fields = copy.deepcopy(FIELDS)
    fields["f:spec"]["f:minReadySeconds"] = {}
    assert missing(STATEFULSET, fields) is None


def test_a_converged_object_needs_no_write() -> None:
    signed = sign(STATEFULSET)
    assert drift(signed, footprint(signed, signed_fields())) is None


def test_a_changed_wish_needs_a_write_also_where_it_only_drops_a_field() -> None:
    live = footprint(sign(STATEFULSET), signed_fields())
    wish = copy.deepcopy(STATEFULSET)
    del wish["spec"]["template"]["spec"]["tolerations"][0]["key"]
    assert drift(sign(wish), live) == "wanted state changed"


def test_an_object_that_somebody_else_made_needs_a_write() -> None:
    signed = sign(STATEFULSET)
    assert drift(sign(STATEFULSET), footprint(STATEFULSET, FIELDS, manager="kubectl")) is not None
    assert drift(signed, footprint(signed, signed_fields(), operation="Update")) == "we own no field of it"
    assert drift(signed, footprint(signed, signed_fields(), subresource="status")) == "we own no field of it"
    assert drift(signed, footprint(signed, signed_fields(), apiVersion="apps/v2")) == "we own no field of it"


def test_a_drifted_object_needs_a_write_that_names_the_field() -> None:
    signed = sign(STATEFULSET)
    live = footprint(signed, without(signed_fields(), "f:spec", "f:replicas"))
    assert drift(signed, live) == "spec.replicas was changed by somebody else"


def test_an_object_without_managed_fields_needs_a_write() -> None:
    signed = sign(STATEFULSET)
    live = msgspec.json.decode(msgspec.json.encode(signed), type=Footprint)
    assert drift(signed, live) == "we own no field of it"


def test_the_signature_does_not_depend_on_the_order_of_members_and_leaves_the_manifest_alone() -> None:
    backwards = {
        name: STATEFULSET[name] if name != "spec" else dict(reversed(STATEFULSET["spec"].items()))
        for name in reversed(STATEFULSET)
    }
    assert sign(STATEFULSET)["metadata"]["annotations"] == sign(backwards)["metadata"]["annotations"]
    assert ANNOTATION not in STATEFULSET["metadata"]["annotations"]


NAMES = st.sampled_from(("a", "b", "spec", "k", "v:", "f:x", ".", 'q"'))
SCALARS = st.one_of(st.integers(), st.booleans(), st.text(max_size=3))
SETS = st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True).map(
    lambda members: ("set", members)
)
ATOMS = st.lists(SCALARS, min_size=1, max_size=3).map(lambda members: ("atomic", members))


def keyed(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maps = st.dictionaries(NAMES, items, max_size=3)
    return st.dictionaries(st.text(max_size=3), maps, min_size=1, max_size=3).map(
        lambda named: ("keyed", [{**item, "name": ("scalar", name)} for name, item in named.items()])
    )


TYPED = st.recursive(
    st.one_of(SCALARS.map(lambda scalar: ("scalar", scalar)), SETS, ATOMS),
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, min_size=1, max_size=4).map(lambda members: ("map", members)),
        keyed(inner),
    ),
    max_leaves=12,
)


def plain(typed: Any) -> Any:
    kind, value = typed
    if kind == "map":
        return {name: plain(member) for name, member in value.items()}
    if kind == "keyed":
        return [{name: plain(member) for name, member in item.items()} for item in value]
    return value


def owned(typed: Any) -> dict[str, Any]:
    """The set that the API server keeps for a value of this shape."""
    kind, value = typed
    if kind == "map":
        return {f"f:{name}": owned(member) for name, member in value.items()}
    if kind == "set":
        return {f"v:{json.dumps(member)}": {} for member in value}
    if kind == "keyed":
        return {
            "k:" + json.dumps({"name": item["name"][1]}): {
                ".": {},
                **{f"f:{name}": owned(member) for name, member in item.items()},
            }
            for item in value
        }
    return {}


def leaves(fields: dict[str, Any], *path: str) -> Iterator[tuple[str, ...]]:
    for name, child in fields.items():
        if name == ".":
            continue
        if child:
            yield from leaves(child, *path, name)
        else:
            yield (*path, name)


@given(spec=st.dictionaries(NAMES, TYPED, min_size=1, max_size=4), data=st.data())
def test_of_any_object_all_fields_are_found_and_the_loss_of_any_one_is_noticed(
    spec: dict[str, Any], data: st.DataObject
) -> None:
    manifest = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": plain(("map", spec))}
    fields = {"f:metadata": {}, "f:spec": owned(("map", spec))}
    assert missing(manifest, fields) is None
    lost = data.draw(st.sampled_from(sorted(leaves(fields["f:spec"], "f:spec"))))
    assert missing(manifest, without(fields, *lost)) is not None

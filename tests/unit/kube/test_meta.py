"""Keys, paths and views."""

import msgspec
import pytest

from slurmery.kube.meta import Key, OwnerReference, Resource, Selection, View, key_of
from slurmery.kube.resources import NODES, PODS, STATEFUL_SETS


def test_a_key_reads_like_kubectl() -> None:
    assert str(Key("slurm", "gpu-0")) == "slurm/gpu-0"
    assert str(Key("", "node-1")) == "node-1"
    assert key_of({"metadata": {"name": "node-1"}}) == Key("", "node-1")


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (PODS, ("ns", "a", "eviction"), "/api/v1/namespaces/ns/pods/a/eviction"),
        (NODES, ("", "n"), "/api/v1/nodes/n"),
        (NODES, ("ignored", "n"), "/api/v1/nodes/n"),
        (STATEFUL_SETS, ("ns", "a", "scale"), "/apis/apps/v1/namespaces/ns/statefulsets/a/scale"),
        (PODS, ("ns", "../a?b"), "/api/v1/namespaces/ns/pods/..%2Fa%3Fb"),
        (Resource("g", "v1", "roles", "Role"), ("ns", "system:x"), "/apis/g/v1/namespaces/ns/roles/system:x"),
    ],
)
def test_a_resource_knows_its_paths(resource: Resource, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


def test_a_selection_asks_only_for_what_is_set() -> None:
    assert Selection(PODS).params == {}
    both = Selection(PODS, "ns", "a=b", "spec.nodeName=n")
    assert (both.path, both.params) == (
        "/api/v1/namespaces/ns/pods",
        {"labelSelector": "a=b", "fieldSelector": "spec.nodeName=n"},
    )


class PodView(View, frozen=True, gc=False):
    """A view as controllers define them."""

    status: dict[str, str] | None = None


def read(metadata: str) -> PodView:
    return msgspec.json.decode(f'{{"kind": "Pod", "metadata": {metadata}, "spec": {{}}}}', type=PodView)


def test_a_view_takes_what_it_knows_and_leaves_the_rest() -> None:
    pod = read(
        """{"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "managedFields": [{}],
        "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}, "ownerReferences": [
          {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
          {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "2", "controller": true}]}"""
    )
    assert pod.key == Key("ns", "a")
    assert pod.deleting
    assert pod.labels == {"a": "b"}
    assert pod.controller == OwnerReference("apps/v1", "StatefulSet", "s", "2", controller=True)


def test_nulls_are_no_harm() -> None:
    pod = read(
        '{"name": "a", "labels": null, "annotations": null, "ownerReferences": null, "finalizers": null}'
    )
    assert (pod.labels, pod.annotations, pod.controller, pod.deleting) == ({}, {}, None, False)

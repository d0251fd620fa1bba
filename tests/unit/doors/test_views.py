"""What the caches keep of objects."""

import json

import msgspec
import pytest

from slurmery.api.slinky import Controller, RestApi
from slurmery.doors.conditions import Rollout
from slurmery.doors.views import Claim, Custom, Pod, Workload, read
from slurmery.slinky.kinds import CONTROLLERS

METADATA = {
    "name": "slurm",
    "namespace": "ns",
    "uid": "u",
    "generation": 3,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "finalizers": ["f"],
    "labels": {"a": "b"},
    "annotations": None,
}


def custom(spec: object) -> Custom:
    return msgspec.json.decode(json.dumps({"metadata": METADATA, "spec": spec}), type=Custom)


def test_a_custom_resource_is_read_as_its_model() -> None:
    restapi = read(RestApi, custom({"controllerRef": {"name": "c"}, "replicas": 2}))
    assert restapi.spec.controller_ref.name == "c"
    assert restapi.spec.replicas == 2
    metadata = restapi.metadata
    assert (metadata.name, metadata.generation, metadata.labels) == ("slurm", 3, {"a": "b"})
    assert (metadata.finalizers, metadata.annotations) == (("f",), {})


def test_an_object_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="replicas"):
        read(RestApi, custom({"controllerRef": {"name": "c"}, "replicas": "two"}))


def test_kinds_know_where_they_are_served() -> None:
    assert CONTROLLERS.path("ns", "slurm") == (
        "/apis/slinky.slurm.net/v1beta1/namespaces/ns/controllers/slurm"
    )
    assert CONTROLLERS.kind == Controller.__name__


def test_a_workload_tells_of_its_pods() -> None:
    status = {"observedGeneration": 2, "replicas": 3, "readyReplicas": 1, "updatedReplicas": 2}
    view = msgspec.json.decode(json.dumps({"metadata": METADATA, "status": status}), type=Workload)
    assert view.rollout == Rollout(3, 2, replicas=3, ready=1, updated=2)
    bare = msgspec.json.decode(json.dumps({"metadata": METADATA}), type=Workload)
    assert bare.rollout == Rollout(3, 0, replicas=0, ready=0, updated=0)


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        (None, False),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "PodScheduled", "status": "True"}], False),
        ([{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}], True),
    ],
)
def test_a_pod_is_ready_when_it_says_so(conditions: object, *, ready: bool) -> None:
    pod = {"metadata": METADATA, "status": {"conditions": conditions}}
    assert msgspec.json.decode(json.dumps(pod), type=Pod).ready is ready


def test_a_claim_tells_who_may_mount_it() -> None:
    claim = {"metadata": METADATA, "spec": {"accessModes": ["ReadWriteMany"]}}
    assert msgspec.json.decode(json.dumps(claim), type=Claim).modes == {"ReadWriteMany"}

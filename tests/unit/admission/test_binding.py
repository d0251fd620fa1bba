"""Annotations of Bindings."""

from typing import Any

import pytest

from slurmery.admission.lookups import Answer, Unreadable, Want
from slurmery.admission.review import Object, Request, Verdict
from slurmery.kube.meta import Key
from slurmery.kube.resources import NODES, PODS
from tests.unit.admission.reviews import BY_PATH, creation, judged, patched, seen

HOOK = BY_PATH["/mutate--v1-binding"]
SPEC = "topology.slinky.slurm.net/spec"
WORKER = seen(metadata={"name": "x", "labels": {"app.kubernetes.io/name": "slurmd"}})
NODE = seen(metadata={"name": "n", "annotations": {SPEC: "topo-switch:s2"}})


def binding(**metadata: Any) -> Object:
    return {"metadata": {"name": "x", **metadata}, "target": {"kind": "Node", "name": "n"}}


def bound(given: Object, pod: Answer = WORKER, node: Answer = NODE) -> Object:
    def known(want: Want) -> Answer:
        assert want in (Want(PODS, Key("slurm", "x")), Want(NODES, Key("", "n")))
        return pod if want.resource == PODS else node

    verdict = judged(HOOK, creation(given), known)
    assert verdict.allowed
    return patched(given, verdict.patch)


def test_the_binding_gets_the_place_of_the_node() -> None:
    assert bound(binding())["metadata"]["annotations"] == {SPEC: "topo-switch:s2"}
    assert bound(binding(annotations={"a": "b"}))["metadata"]["annotations"] == {
        "a": "b",
        SPEC: "topo-switch:s2",
    }
    assert bound(binding(), node=seen())["metadata"]["annotations"] == {SPEC: ""}


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        (None, NODE),
        (Unreadable("no"), NODE),
        (seen(), NODE),
        (seen(metadata={"name": "x", "labels": {"app.kubernetes.io/name": "nginx"}}), NODE),
        (WORKER, None),
        (WORKER, Unreadable("no")),
    ],
)
def test_every_other_binding_passes_untouched(pod: Answer, node: Answer) -> None:
    assert bound(binding(), pod, node) == binding()


@pytest.mark.parametrize(
    "given", [None, {}, {"target": 5}, {"target": {"name": 5}}, {"target": {"name": ""}}]
)
def test_an_odd_binding_is_the_api_servers_to_refuse(given: Any) -> None:
    request = Request("u", "CREATE", "x", "slurm", given)
    assert list(HOOK.wants(request)) == []
    assert HOOK.judge(request, {}) == Verdict()

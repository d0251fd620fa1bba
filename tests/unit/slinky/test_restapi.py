from typing import Any

import pytest

from slurmery.api.slinky import RestApi
from slurmery.doors.conditions import Rollout
from slurmery.kube.resources import SERVICES
from slurmery.slinky.restapi.build import endpoint
from slurmery.slinky.restapi.decide import decide
from slurmery.slinky.restapi.observed import Observed
from tests.unit.slinky import golden
from tests.unit.slinky.clusters import SETTLED, controller
from tests.unit.slinky.sets import restapi, restapi_world

FULL: dict[str, Any] = {
    "metadata": {"labels": {"team": "hpc"}, "annotations": {"owner": "ops"}},
    "replicas": 2,
    "slurmrestd": {
        "image": "slurmrestd:26.05",
        "args": ["-v"],
        "env": [{"name": "SLURMRESTD_JSON", "value": "pretty"}],
        "ports": [{"name": "slurmrestd", "containerPort": 8080}],
        "resources": {"limits": {"memory": "4Gi"}},
    },
    "template": {
        "metadata": {"annotations": {"note": "x"}},
        "spec": {"priorityClassName": "", "nodeSelector": {"kubernetes.io/os": "linux"}},
    },
    "service": {
        "metadata": {"annotations": {"lb": "internal"}},
        "spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]},
        "port": 80,
        "nodePort": 32500,
    },
}
ACCOUNTED = restapi_world(controller=controller(accountingRef={"name": "dbd"}))


@pytest.mark.parametrize(
    ("case", "spec", "observed"), [("minimal", {}, restapi_world()), ("full", FULL, ACCOUNTED)]
)
def test_manifests_are_the_reviewed_ones(case: str, spec: dict[str, Any], observed: Observed) -> None:
    plan = decide(restapi(**spec), observed)
    golden.check(f"restapi-{case}", (desired.manifest for desired in plan.desired))


def pod(given: RestApi, observed: Observed) -> dict[str, Any]:
    deployment = decide(given, observed).desired[1].manifest
    template: dict[str, Any] = deployment["spec"]["template"]
    return template


@pytest.mark.parametrize(
    ("observed", "user", "args"),
    [
        (restapi_world(), [], ["-s", "openapi/slurmctld", "0.0.0.0:6820"]),
        (ACCOUNTED, [], ["0.0.0.0:6820"]),
        (ACCOUNTED, ["-v"], ["-v", "0.0.0.0:6820"]),
    ],
)
def test_slurmdbd_is_served_only_with_accounting(
    observed: Observed, user: list[str], args: list[str]
) -> None:
    given = restapi(slurmrestd={"image": "x", "args": user})
    assert pod(given, observed)["spec"]["containers"][0]["args"] == args


def test_another_port_is_meant_everywhere() -> None:
    given = restapi(**FULL)
    service, deployment = (desired.manifest for desired in decide(given, restapi_world()).desired)
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][-1] == "0.0.0.0:8080"
    assert container["readinessProbe"]["tcpSocket"]["port"] == container["ports"][0]["name"]
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["name"]
    assert str(endpoint(given)) == "slurm-restapi.slurm:80"
    assert str(endpoint(restapi())) == "slurm-restapi.slurm:6820"


@pytest.mark.parametrize("change", [{"slurm_conf_hash": "c2"}, {"slurm_key_hash": "k2"}])
def test_pods_restart_when_what_they_read_changes(change: dict[str, str]) -> None:
    before, after = pod(restapi(), restapi_world()), pod(restapi(), restapi_world(**change))
    assert before["spec"] == after["spec"]
    assert before["metadata"]["annotations"] != after["metadata"]["annotations"]


def test_it_never_runs_as_root_or_as_slurm() -> None:
    spec = pod(restapi(), restapi_world())["spec"]
    for context in (spec["securityContext"], spec["containers"][0]["securityContext"]):
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] == context["runAsGroup"] == 65534


def test_the_service_selects_the_pods() -> None:
    service, deployment = (desired.manifest for desired in decide(restapi(), restapi_world()).desired)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("given", "observed", "reason"),
    [
        (restapi(), Observed(), "ControllerNotFound"),
        (restapi(), restapi_world(slurm_key_hash=None), "SecretNotFound"),
        (restapi(slurmrestd={"image": "x", "env": 1}), restapi_world(), "InvalidSpec"),
        (restapi(slurmrestd={}), restapi_world(), "ImageMissing"),
    ],
)
def test_what_runs_is_left_alone_while_something_is_wrong(
    given: RestApi, observed: Observed, reason: str
) -> None:
    plan = decide(given, observed)
    assert [desired.manifest["kind"] for desired in plan.desired] == ["Service"]
    assert plan.prune == ()
    degraded = next(each for each in plan.conditions if each.type == "Degraded")
    assert (degraded.status, degraded.reason) == ("True", reason)


def test_one_ready_pod_is_enough_to_be_ready() -> None:
    rolling = Rollout(generation=2, observed_generation=2, replicas=3, ready=1, updated=1)
    states = {
        each.type: each.status
        for each in decide(restapi(replicas=3), restapi_world(rollout=rolling)).conditions
    }
    assert states == {"Ready": "True", "Progressing": "True", "Degraded": "False"}
    done = decide(restapi(), restapi_world(rollout=SETTLED)).conditions
    assert {each.type: each.status for each in done}["Progressing"] == "False"


def test_slurm_conf_is_waited_for_without_an_alarm() -> None:
    plan = decide(restapi(), restapi_world(slurm_conf_hash=None))
    assert [each.resource for each in plan.desired] == [SERVICES]
    assert plan.prune == ()
    said = {each.type: (each.status, each.reason) for each in plan.conditions}
    assert said == {
        "Ready": ("False", "ConfigNotFound"),
        "Progressing": ("True", "ConfigNotFound"),
        "Degraded": ("False", "AsExpected"),
    }

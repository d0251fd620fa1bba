"""The chart of the operator: what its values come to."""

import pytest
import yaml

from dev.binaries import Module
from slurmery.admission import hooks
from slurmery.admission.configurations import Plan, by_service, configurations
from slurmery.admission.rotation import AUTHORITY_LABEL
from slurmery.cli.flags import read
from slurmery.cli.settings.operator import OperatorSettings
from slurmery.cli.settings.webhook import WebhookSettings
from slurmery.kube.meta import Key
from tests.unit.charts.rendering import CHARTS, HELMS, NAMESPACE, Object, RenderError, lint, one, render

EVERYTHING: Object = {
    "imagePullSecrets": [{"name": "registry"}],
    "priorityClassName": "system-cluster-critical",
    "operator": {
        "replicas": 2,
        "pdb": {"enabled": True},
        "namespaces": "a, b",
        "metricsSecure": True,
        "args": ["--zap-devel"],
    },
    "webhook": {"replicas": 2, "podsBinding": True, "metricsPort": 8080},
    "certManager": {"enabled": True},
    "podMonitor": {"enabled": True},
    "propagatedNodeConditions": ["DiskPressure"],
    "extraObjects": ["{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Release.Name }}-extra'}}"],
}


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize("chart", ["slurmery", "slurmery-crds", "slurmery-monitoring", "slurm"])
def test_both_helms_are_content(helm: Module, chart: str) -> None:
    lint(chart, helm=helm)


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_both_helms_render_the_same(values: Object) -> None:
    three, four = (render("slurmery", values, helm=helm) for helm in HELMS)

    assert three == four


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_the_programs_know_all_flags_that_they_are_given(values: Object) -> None:
    objects = render("slurmery", values)

    for name, settings in (("slurmery", OperatorSettings), ("slurmery-webhook", WebhookSettings)):
        [container] = one(objects, "Deployment", name)["spec"]["template"]["spec"]["containers"]
        assert container["args"][0] == container["name"]
        read(settings, container["args"][1:], {})


@pytest.mark.parametrize("values", [{}, {"webhook": {"podsBinding": True, "namespaces": ["a", "b"]}}])
def test_the_webhooks_are_those_of_the_code(values: Object) -> None:
    chosen = values.get("webhook", {})
    plan = Plan(
        name="slurmery-webhook",
        reach=by_service(Key(NAMESPACE, "slurmery-webhook")),
        hooks=tuple(hook for hook in hooks.ALL if hook is not hooks.PODS_BINDING or chosen),
        namespaces=tuple(chosen.get("namespaces", ())),
        own_namespace=NAMESPACE,
    )

    for expected in configurations(plan):
        rendered = one(render("slurmery", values), expected["kind"], "slurmery-webhook")
        assert rendered["webhooks"] == expected["webhooks"]
        assert rendered["metadata"]["labels"][AUTHORITY_LABEL] == f"{NAMESPACE}.slurmery-webhook-authority"


def test_cert_manager_is_asked_only_when_wanted() -> None:
    kinds = [each["kind"] for each in render("slurmery", {"certManager": {"enabled": True}})]

    assert (kinds.count("Issuer"), kinds.count("Certificate")) == (2, 2)
    assert not {"Issuer", "Certificate"} & {each["kind"] for each in render("slurmery")}


def test_budgets_are_for_more_than_one_replica() -> None:
    def budgets(values: Object) -> dict[str, Object]:
        found = [each for each in render("slurmery", values) if each["kind"] == "PodDisruptionBudget"]
        return {each["metadata"]["name"]: each["spec"] for each in found}

    assert not budgets({"operator": {"pdb": {"enabled": True}}})
    assert budgets(EVERYTHING)["slurmery-webhook"]["minAvailable"] == 1
    assert (
        budgets({"webhook": {"replicas": 3, "pdb": {"maxUnavailable": 0}}})["slurmery-webhook"][
            "maxUnavailable"
        ]
        == 0
    )


def test_a_new_version_leaves_selectors_alone() -> None:
    for each in render("slurmery"):
        if each["kind"] == "Deployment":
            assert set(each["spec"]["selector"]["matchLabels"]) == {
                "app.kubernetes.io/name",
                "app.kubernetes.io/instance",
            }


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, "ghcr.io/slurmery/slurmery:0.1.0"),
        ({"tag": "2"}, "ghcr.io/slurmery/slurmery:2"),
        ({"digest": f"sha256:{'0' * 64}", "tag": "2"}, f"ghcr.io/slurmery/slurmery@sha256:{'0' * 64}"),
    ],
)
def test_the_webhook_runs_the_operators_image(image: Object, expected: str) -> None:
    for each in render("slurmery", {"operator": {"image": image}}):
        if each["kind"] == "Deployment":
            assert each["spec"]["template"]["spec"]["containers"][0]["image"] == expected


@pytest.mark.parametrize("helm", HELMS, ids=lambda helm: helm.folder)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"operator": {"replicsa": 2}}, "replicsa"),
        ({"webhook": {"validating": {"failurePolicy": "Never"}}}, "failurePolicy"),
        ({"operator": {"metricsPort": 70000}}, "metricsPort"),
        ({"crds": {"enabled": True}}, "install it first: helm upgrade --install slurmery-crds"),
        ({"operator": {"replicas": 2, "leaderElection": False}}, "all of them would work at once"),
        ({"operator": {"metricsSecure": True, "metricsPort": 0}}, "there are no metrics"),
        ({"fullnameOverride": "x" * 40, "namespaceOverride": "y" * 40}, "set fullnameOverride"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value).split()[0],
)
def test_what_cannot_work_is_refused_with_a_sentence(helm: Module, values: Object, words: str) -> None:
    with pytest.raises(RenderError, match=words):
        render("slurmery", values, helm=helm)


@pytest.mark.parametrize("chart", ["slurmery", "slurm"])
def test_the_schema_knows_every_value_that_is_documented(chart: str) -> None:
    schema = yaml.safe_load((CHARTS / chart / "values.schema.json").read_text())
    values = yaml.safe_load((CHARTS / chart / "values.yaml").read_text())

    assert set(values) == set(schema["properties"]) - {"global"}

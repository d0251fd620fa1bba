"""What the API server is told to ask us about."""

from typing import Any

from slurmery.admission import hooks
from slurmery.admission.configurations import Plan, by_service, configurations
from slurmery.kube.meta import Key

SERVICE = by_service(Key("slinky", "slurm-operator-webhook"))
OURS = {"slinky.slurm.net", "slurm.nebius.ai"}


def webhooks(**changes: Any) -> dict[str, dict[str, Any]]:
    made = configurations(Plan("x", SERVICE, **changes))
    return {webhook["name"]: webhook for manifest in made for webhook in manifest["webhooks"]}


def test_names_and_paths_are_those_that_people_know() -> None:
    paths = {name: webhook["clientConfig"]["service"]["path"] for name, webhook in webhooks().items()}

    assert paths == {
        **{
            f"{kind}-v1beta1.kb.io": f"/validate-slinky-slurm-net-v1beta1-{kind}"
            for kind in ("accounting", "controller", "loginset", "nodeset", "restapi", "token")
        },
        "podsbinding-v1.kb.io": "/mutate--v1-binding",
        "vsecret-v1.kb.io": "/validate--v1-secret",
        "vslurmcluster-v1.kb.io": "/validate-slurm-nebius-ai-v1-slurmcluster",
        "vnodeset-v1alpha1.kb.io": "/validate-slurm-nebius-ai-v1alpha1-nodeset",
        "nodeconfigurator.mutating.slurm.nebius.ai": "/mutate-slurm-nebius-ai-v1alpha1-nodeconfigurator",
    }


def test_nothing_of_others_is_intercepted_fail_closed() -> None:
    for name, webhook in webhooks().items():
        groups = {group for rule in webhook["rules"] for group in rule["apiGroups"]}
        if webhook["failurePolicy"] == "Fail" and not groups <= OURS:
            assert webhook["objectSelector"] == {"matchLabels": {"slurm.nebius.ai/webhook": "true"}}, name
        if webhook["failurePolicy"] == "Ignore":
            assert webhook["timeoutSeconds"] <= 2, name


def test_pods_pass_even_if_everything_else_is_made_fail_closed() -> None:
    binding = webhooks(failure_policy="Fail", own_namespace="slinky")["podsbinding-v1.kb.io"]

    assert binding["failurePolicy"] == "Ignore"
    assert binding["rules"][0]["resources"] == ["pods/binding"]
    assert binding["namespaceSelector"]["matchExpressions"][0]["values"][-1] == "slinky"


def test_the_policy_for_our_own_kinds_can_be_chosen() -> None:
    assert {webhook["failurePolicy"] for webhook in webhooks(failure_policy="Ignore").values()} == {"Ignore"}
    assert webhooks(timeout_seconds=5)["token-v1beta1.kb.io"]["timeoutSeconds"] == 5


def test_the_namespaces_of_kubernetes_itself_are_spared_and_the_others_can_be_chosen() -> None:
    spared, chosen = webhooks(namespaces=("a", "b"))["token-v1beta1.kb.io"]["namespaceSelector"][
        "matchExpressions"
    ]

    assert spared["values"] == ["kube-system", "kube-public", "kube-node-lease"]
    assert (chosen["operator"], chosen["values"]) == ("In", ["a", "b"])


def test_a_front_door_can_be_configured_alone() -> None:
    slinky = configurations(Plan("slurm-operator-webhook", SERVICE, hooks.SLINKY, labels={"a": "b"}))

    assert [(one["kind"], one["metadata"]) for one in slinky] == [
        ("ValidatingWebhookConfiguration", {"name": "slurm-operator-webhook", "labels": {"a": "b"}})
    ]

"""The chart's rights, held against what the code watches, applies and looks up.

What else the operator does is seen on a real API server: tests/controlplane/charts/test_rights.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import pytest

from slurmery.admission import references
from slurmery.admission.lookups import served
from slurmery.api import nebius, slinky
from slurmery.cli.programs.checks import _wired
from slurmery.cli.settings.checks import ChecksSettings
from slurmery.health.active import pod
from slurmery.health.configurator.program import Configurator
from slurmery.health.repair.policy import Policy
from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.informer import Informer
from slurmery.kube.meta import Resource, Selection, View
from slurmery.kube.resources import CONFIG_MAPS, NODES, PERSISTENT_VOLUME_CLAIMS, PODS
from slurmery.kube.runtime import Listen, Runtime, Wing
from slurmery.kube.store import Index
from slurmery.nebius import access
from slurmery.nebius.caches import Caches as NebiusCaches
from slurmery.nebius.door import Door as NebiusDoor
from slurmery.nebius.kinds import SLURM_CLUSTERS
from slurmery.nebius.sconfigcontroller import build as sconfigcontroller
from slurmery.slinky.caches import Caches as SlinkyCaches
from slurmery.slinky.door import Door as SlinkyDoor
from slurmery.slinky.kinds import CONTROLLERS
from tests.unit.charts.rendering import NAMESPACE, Object, one, render
from tests.unit.nebius.clusters import cluster

V = TypeVar("V", bound=View)
Rights = dict[tuple[str, str], set[str]]

APPLIED = {"create", "delete", "get", "list", "patch", "watch"}
WATCHED = {"list", "watch"}


class Watching(Runtime):
    """Remembers what is to be watched."""

    def __init__(self) -> None:
        super().__init__(Client(Config("https://127.0.0.1:1")), "test", Listen())
        self.selections: list[Selection] = []

    def informer(
        self,
        selection: Selection,
        view: type[V],
        indexes: Mapping[str, Index[V]] | None = None,
        *,
        once: Resource | None = None,
    ) -> Informer[V]:
        self.selections.append(selection)
        return super().informer(selection, view, indexes, once=once)


def rights(rules: Iterable[Mapping[str, Any]]) -> Rights:
    """Verbs by group and resource."""
    found: Rights = {}
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def place(resource: Resource) -> tuple[str, str]:
    return resource.group, resource.plural


def role(name: str, kind: str = "ClusterRole", namespace: str = "", **values: Object) -> Rights:
    return rights(one(render("slurmery", values), kind, name, namespace)["rules"])


@pytest.mark.parametrize(
    ("name", "door"),
    [("slurmery", SlinkyDoor()), ("slurmery-nebius", NebiusDoor())],
    ids=["slinky", "nebius"],
)
async def test_the_operator_may_watch_what_it_watches(name: str, door: SlinkyDoor | NebiusDoor) -> None:
    runtime = Watching()
    async with door.open(runtime):
        if name == "slurmery-nebius":
            Configurator().wire(runtime)
        watched = {place(selection.resource) for selection in runtime.selections}

    allowed = role(name)
    assert {what for what, verbs in allowed.items() if "watch" in verbs} == watched
    assert all(allowed[what] >= WATCHED for what in watched)


def test_it_may_apply_and_prune_what_it_owns() -> None:
    for resource in SlinkyCaches(Wing(Watching(), CONTROLLERS)).owned:
        assert role("slurmery")[place(resource)] == APPLIED
    for resource in NebiusCaches(Wing(Watching(), SLURM_CLUSTERS)).owned:
        assert role("slurmery-nebius")[place(resource)] == APPLIED


def test_it_has_the_rights_that_it_gives() -> None:
    allowed = role("slurmery-nebius")
    given = [
        *sconfigcontroller._rules(cluster()),
        access.rule("", ["secrets"], access.READ),
        access.rule("", ["pods"], ["get", "patch"]),
    ]
    for what, verbs in rights(given).items():
        assert allowed[what] >= verbs


def checks(**manager: Object) -> Rights:
    values = {"checks": {"manager": manager}}
    return rights(one(render("soperatorchecks", values), "ClusterRole", "soperatorchecks")["rules"])


async def test_the_checks_may_watch_what_they_watch() -> None:
    runtime = Watching()
    async with _wired(ChecksSettings(), Policy(), runtime):
        watched = {place(selection.resource) for selection in runtime.selections}

    allowed = checks()
    assert {what for what, verbs in allowed.items() if "watch" in verbs} == watched
    assert all(allowed[what] >= WATCHED for what in watched)


def test_the_checks_have_the_rights_that_they_give() -> None:
    allowed = checks()

    for what, verbs in rights(pod._RULES).items():
        assert allowed[what] >= verbs


@pytest.mark.parametrize(
    ("off", "lost"),
    [
        ("k8snodes", ("delete", "nodes")),
        ("podephemeralstoragecheck", ("get", "nodes/stats")),
        ("activecheck", ("create", "roles")),
    ],
)
def test_what_does_not_run_has_no_rights(off: str, lost: tuple[str, str]) -> None:
    def held(allowed: Rights) -> set[tuple[str, str]]:
        return {(verb, resource) for (_, resource), verbs in allowed.items() for verb in verbs}

    assert lost in held(checks())
    assert lost not in held(checks(controllersEnabled={off: False}))


def test_checks_of_some_namespaces_have_rights_there_alone() -> None:
    objects = render(
        "soperatorchecks", {"checks": {"manager": {"env": {"slurmOperatorWatchNamespaces": "a, b"}}}}
    )
    everywhere = rights(one(objects, "ClusterRole", "soperatorchecks")["rules"])

    assert {resource for _, resource in everywhere} == {"nodes", "nodes/stats", "nodes/status"}
    for namespace in ("a", "b"):
        there = rights(one(objects, "Role", "soperatorchecks", namespace)["rules"])
        assert {**there, **everywhere} == checks()


def test_it_may_say_how_each_kind_stands_but_not_change_what_users_want() -> None:
    allowed = role("slurmery")

    for kind in slinky.KINDS:
        group, plural = place(served(kind))
        held = set() if kind in {slinky.LoginSet, slinky.Token} else {"patch"}  # a finalizer
        assert allowed[group, plural] == WATCHED | held
        assert allowed[group, f"{plural}/status"] == {"patch"}


def test_the_webhook_may_look_up_what_it_looks_up_and_nothing_else() -> None:
    wanted = {pointer.resource for pointers in references._POINTERS.values() for pointer in pointers}
    wanted |= {CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, served(nebius.SlurmCluster)}

    def looked_up(**webhook: bool) -> set[tuple[str, str]]:
        found = role("slurmery-webhook", webhook=webhook)
        return {what for what, verbs in found.items() if verbs == {"get"}}

    assert looked_up() == {place(each) for each in wanted}
    assert looked_up(podsBinding=True) == {place(each) for each in (*wanted, PODS, NODES)}


def test_with_namespaces_given_rights_are_given_there_alone() -> None:
    everywhere = role("slurmery")
    some = {"namespaces": ["a", "b"]}

    assert role("slurmery", operator=some) == {("", "nodes"): WATCHED}
    for namespace in ("a", "b"):
        there = role("slurmery", "Role", namespace, operator=some)
        assert {**there, ("", "nodes"): WATCHED} == everywhere


CHARTS = ["slurmery", "soperatorchecks", "nodeconfigurator"]


@pytest.mark.parametrize("chart", CHARTS)
def test_nobody_may_do_everything(chart: str) -> None:
    for each in render(chart):
        for rule in each.get("rules", ()):
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])


def test_secrets_of_the_release_are_named() -> None:
    [create, kept] = one(render("slurmery"), "Role", "slurmery-webhook-authority")["rules"]

    assert create["verbs"] == ["create"]
    assert kept["resourceNames"] == ["slurmery-webhook-authority"]


@pytest.mark.parametrize(("secure", "asked"), [(False, False), (True, True)])
def test_reviews_are_for_guarded_metrics(secure: bool, asked: bool) -> None:
    allowed = role("slurmery", operator={"metricsSecure": secure})

    assert (("authentication.k8s.io", "tokenreviews") in allowed) is asked


def test_accounts_are_bound_in_the_namespace_of_the_release() -> None:
    for each in render("slurmery", {"operator": {"serviceAccount": {"name": "own"}}}):
        if each["kind"].endswith("RoleBinding"):
            [subject] = each["subjects"]
            assert subject["namespace"] == NAMESPACE
            assert subject["name"] in {"own", "slurmery-webhook"}

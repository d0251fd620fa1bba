"""Reconciling any kind, where the world is not as the API server would keep it."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from slurmery.api.slinky import RestApi
from slurmery.doors.cache import Cache
from slurmery.doors.conditions import Condition
from slurmery.doors.plan import Plan
from slurmery.doors.reconcile import Kind, Reconcile
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom
from slurmery.kube.apply import Applier
from slurmery.kube.controller import Result
from slurmery.kube.meta import Key, ObjectMeta

KEY = Key("ns", "rest")


class Views:
    def __init__(self, view: Custom | None) -> None:
        self._view = view

    def get(self, key: Key) -> Custom | None:
        return self._view


class Reports:
    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self.forgotten: list[Key] = []

    async def report(self, view: Custom, conditions: Iterable[Condition], beside: Mapping[str, Any]) -> None:
        self.conditions += conditions

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)


class Idle:
    """An apply engine with nothing to do."""


async def gather(restapi: RestApi) -> None:
    raise AssertionError("an object that cannot be read is not acted upon")


def reconcile(view: Custom | None, reports: Reports) -> Reconcile[RestApi, None, Plan]:
    kind = Kind(RestApi, gather, lambda *_: Plan((), ()), lambda _: {})
    return Reconcile(
        kind, cast("Cache[Custom]", Views(view)), cast("Applier", Idle()), cast("Reporter", reports)
    )


async def test_an_object_that_a_foreign_crd_let_in_is_told_what_is_wrong_with_it() -> None:
    reports = Reports()
    metadata = ObjectMeta(name="rest", namespace="ns")
    view = Custom(metadata, {"controllerRef": {"name": "c"}, "replicas": "two"})
    assert await reconcile(view, reports)(KEY) == Result()
    degraded = next(each for each in reports.conditions if each.type == "Degraded")
    assert (degraded.status, degraded.reason) == ("True", "InvalidSpec")
    assert degraded.message.startswith("spec.replicas: ")


async def test_of_an_object_that_is_gone_nothing_is_kept() -> None:
    reports = Reports()
    assert await reconcile(None, reports)(KEY) == Result()
    assert reports.forgotten == [KEY]

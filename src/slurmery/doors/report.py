"""How an object stands, written where people look: its status, and Events about what changed."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from slurmery.api.condition import Condition as Stamped
from slurmery.doors.conditions import Condition, Event, changes, stamped, timed
from slurmery.doors.views import Custom
from slurmery.kube.apply import Act, Outcome
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.events import Recorder, Regarding
from slurmery.kube.meta import Key, Resource

Status = Mapping[str, Any]

_TOLD: Final = {
    Act.CREATED: ("Create", "Created"),
    Act.RECREATED: ("Create", "Replaced"),
    Act.PRUNED: ("Delete", "Deleted"),
}


class _Written(NamedTuple):
    uid: str
    version: int
    status: Status


class Reporter:
    """Reports on the objects of one kind; a status that says the same already costs nothing."""

    def __init__(
        self, client: Client, recorder: Recorder, resource: Resource, *, timed: bool = False
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._resource = resource
        # Whether conditions of this kind tell when they were last written.
        self._timed = timed
        # Our own writes that the cache may not show yet: else the next look would write them again.
        self._ahead: dict[Key, _Written] = {}

    async def report(self, view: Custom, conditions: Iterable[Condition], beside: Status) -> None:
        """Make the status say so; `beside` are its other fields, None for one that must not be there."""
        conditions = tuple(conditions)
        status = self.status(view)
        before = [Stamped.model_validate(each) for each in status.get("conditions") or ()]
        generation = view.metadata.generation or 0
        now = datetime.now(UTC)
        fresh = stamped(conditions, before, generation, now)
        if self._timed:
            fresh = timed(fresh, status.get("conditions") or (), now)
        wanted = {**beside, "conditions": fresh}
        if all(status.get(name) == value for name, value in wanted.items()):
            return
        try:
            answer = await self._client.patch(
                self._resource, view.key, {"status": wanted}, subresource="status"
            )
        except NotFoundError:
            return
        metadata = answer["metadata"]
        self._ahead[view.key] = _Written(metadata["uid"], int(metadata["resourceVersion"]), answer["status"])
        for event in changes(conditions, before):
            # How a new object stands is no change; only what is wrong with it is worth an Event.
            if before or event.type == "Warning":
                self.say(view, event)

    def say(self, view: Custom, event: Event) -> None:
        """Record what happened to an object beside the changes of its conditions."""
        regarding = Regarding(self._resource, view.key, view.metadata.uid)
        self._recorder.record(regarding, event.type, event.reason, event.note, action=event.action)

    def tell(self, view: Custom, outcomes: Iterable[Outcome]) -> None:
        """Events about what was made or removed for an object, in upstream's words; one names all alike."""
        named: dict[Act, list[str]] = {}
        for each in outcomes:
            named.setdefault(each.act, []).append(f"{each.resource.kind} {each.key.name}")
        for act, (action, past) in _TOLD.items():
            if act in named:
                note = f"{past} {', '.join(named[act])}."
                self.say(view, Event("Normal", f"{action}Succeeded", action, note))

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._ahead.pop(key, None)

    def status(self, view: Custom) -> Status:
        """The object's status, also if we wrote it a moment ago."""
        ahead = self._ahead.get(view.key)
        if ahead and ahead.uid == view.metadata.uid and ahead.version > int(view.metadata.resource_version):
            return ahead.status
        self.forget(view.key)
        return view.status or {}

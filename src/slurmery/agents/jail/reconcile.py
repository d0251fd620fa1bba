"""One group of JailedConfigs: compare, write what differs, have Slurm read it, say how it stands.

files differ          "Refresh" is said first, so that a restart in between still tells Slurm afterwards
Slurm was not told    asked to reconfigure, then looked at now and then until every slurmd has
nothing of that       nothing is written anywhere, also on the first look after a restart
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from slurmery.agents.jail import group
from slurmery.agents.jail.files import Jail, RefusedError
from slurmery.agents.jail.group import Member, Wish
from slurmery.agents.jail.payload import File
from slurmery.agents.jail.reconfiguration import Reconfiguration, Step
from slurmery.api.nebius import JailedConfig
from slurmery.doors.conditions import Condition
from slurmery.doors.contents import Contents
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, read
from slurmery.kube.controller import Result
from slurmery.kube.meta import Key
from slurmery.slurm.errors import SlurmError

Members = Callable[[Key], Iterable[Custom]]
Begin = Callable[[float], Reconfiguration]

_RETRY_SECONDS = 15.0


class Reconcile:
    """Keeps one group's files in the jail. `members` finds a group's JailedConfigs, `begin` tells Slurm."""

    def __init__(
        self, members: Members, contents: Contents, jail: Jail, reporter: Reporter, begin: Begin
    ) -> None:
        self._members = members
        self._contents = contents
        self._jail = jail
        self._reporter = reporter
        self._begin = begin
        self._under_way: dict[Key, Reconfiguration] = {}

    async def __call__(self, key: Key, /) -> Result:
        members = [one for view in self._members(key) if (one := await self._member(view))]
        if not members:
            self._under_way.pop(key, None)
            return Result()
        wishes = group.wishes(members)
        files = [file for wish in wishes.values() for file in wish.files]
        try:
            changed = await asyncio.to_thread(self._changed, files)
            if changed:
                await self._announce(members, wishes, changed)
                await asyncio.to_thread(self._write, changed)
        except (RefusedError, OSError) as error:
            return await self._failed(members, wishes, error)
        return await self._told(key, members, wishes, changed)

    async def _member(self, view: Custom) -> Member | None:
        try:
            config = read(JailedConfig, view)
        except ValueError as error:
            await self._report(view, [group.not_written("InvalidSpec", str(error))])
            return None
        name = Key(view.metadata.namespace, config.spec.config_map.name)
        return Member(view, config, self._reporter.status(view), await self._contents.config_map(name))

    def _changed(self, files: Iterable[File]) -> list[File]:
        if not self._jail.mounted():
            raise RefusedError("The jail is not mounted.")
        return [file for file in files if not self._jail.holds(file)]

    def _write(self, files: Iterable[File]) -> None:
        for file in files:
            self._jail.write(file)

    async def _announce(
        self, members: Iterable[Member], wishes: Mapping[Key, Wish], changed: Iterable[File]
    ) -> None:
        paths = {file.path for file in changed}
        for member in members:
            if any(file.path in paths for file in wishes[member.view.key].files):
                words = "The files are about to be written."
                said = [group.not_written("Refresh", words), group.waiting("Refresh", words)]
                await self._report(member.view, said)

    async def _failed(
        self, members: Iterable[Member], wishes: Mapping[Key, Wish], error: Exception
    ) -> Result:
        for member in members:
            wish = wishes[member.view.key]
            said = group.written(wish) if wish.reason else group.not_written("NotWritten", str(error))
            await self._report(member.view, [said, group.waiting("NotWritten", str(error))])
        return Result(_RETRY_SECONDS)

    async def _told(
        self, key: Key, members: list[Member], wishes: Mapping[Key, Wish], changed: list[File]
    ) -> Result:
        paths = {file.path for file in changed}
        owing = [
            member
            for member in members
            if member.owes or (member.reconfigures and _touches(wishes[member.view.key], paths))
        ]
        owing = [member for member in owing if not wishes[member.view.key].reason]
        waiting: Condition | None = None
        again: float | None = None
        if owing:
            waiting, again = await self._reconfigure(key, rewritten=bool(changed))
        else:
            self._under_way.pop(key, None)
        alone = not key.name.startswith(group.MARK)
        for member in members:
            wish = wishes[member.view.key]
            action = waiting if waiting and member in owing else group.acted(member, wish, alone=alone)
            await self._report(member.view, [group.written(wish), action])
        return Result(again)

    async def _reconfigure(self, key: Key, *, rewritten: bool) -> tuple[Condition | None, float | None]:
        """What is still waited for, and when to look again; nothing of both once Slurm has read all."""
        now = asyncio.get_running_loop().time()
        under_way = self._under_way.get(key)
        if under_way is None:
            under_way = self._under_way[key] = self._begin(now)
        elif rewritten:
            under_way.rewritten(now)
        try:
            progress = await under_way.look(now)
        except SlurmError as error:
            return group.waiting("SlurmUnreachable", f"Slurm could not be told: {error}"), _RETRY_SECONDS
        if progress.step is Step.DONE:
            del self._under_way[key]
            return None, None
        if progress.step is Step.LATE:
            del self._under_way[key]
            return group.waiting("Timeout", progress.words), _RETRY_SECONDS
        return group.waiting("Refresh", progress.words), progress.again

    async def _report(self, view: Custom, said: Iterable[Condition]) -> None:
        await self._reporter.report(view, said, {})


def _touches(wish: Wish, paths: set[str]) -> bool:
    return any(file.path in paths for file in wish.files)

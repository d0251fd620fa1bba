"""JailedConfigs that are written together: the members of one aggregation, or one alone.

What is decided here is pure: which files are wanted, who asks for which, and what is said of each member.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slurmery.agents.jail.payload import File, PayloadError, payload
from slurmery.api.nebius import JailedConfig
from slurmery.doors.conditions import Condition
from slurmery.doors.views import Custom
from slurmery.kube.meta import Key
from slurmery.nebius import names

FILES_WRITTEN: Final = "FilesWritten"
UPDATE_ACTIONS_COMPLETED: Final = "UpdateActionsCompleted"
# No object can have such a name: groups and single configs never meet.
MARK: Final = "aggregation:"


@dataclass(frozen=True)
class Member:
    """One JailedConfig, its status as last written, and what its ConfigMap holds, None if there is none."""

    view: Custom
    config: JailedConfig
    status: Mapping[str, Any]
    content: Mapping[str, bytes] | None

    @property
    def reconfigures(self) -> bool:
        """Whether Slurm must read the files."""
        return "Reconfigure" in self.config.spec.update_actions

    @property
    def owes(self) -> bool:
        """Whether Slurm has not been told yet, as far as its status says."""
        conditions = self.status.get("conditions") or ()
        told = any(
            each.get("type") == UPDATE_ACTIONS_COMPLETED and each.get("status") == "True"
            for each in conditions
        )
        return self.reconfigures and not told


@dataclass(frozen=True)
class Wish:
    """The files of a member, or why it has none: a reason for programs and a sentence."""

    files: tuple[File, ...] = ()
    reason: str = ""
    words: str = ""


def group_of(view: Custom) -> Key:
    """The key under which a JailedConfig is reconciled, with all that are written together with it."""
    value = view.labels.get(names.AGGREGATION_LABEL)
    return Key(view.metadata.namespace, f"{MARK}{value}") if value else view.key


def of_cluster(view: Custom, cluster: str) -> bool:
    """Whether a JailedConfig is this cluster's; one that names none is everybody's."""
    return view.labels.get(names.INSTANCE_LABEL, cluster) == cluster


def wishes(members: Iterable[Member]) -> dict[Key, Wish]:
    """What each member asks for. Of two that ask for the same file, the first by name gets it."""
    owners: dict[str, str] = {}
    found = {}
    for member in sorted(members, key=lambda one: one.view.key):
        found[member.view.key] = _wish(member, owners)
        owners.update((file.path, member.view.metadata.name) for file in found[member.view.key].files)
    return found


def _wish(member: Member, owners: Mapping[str, str]) -> Wish:
    spec = member.config.spec
    if member.content is None:
        return Wish(reason="NotFound", words=f"ConfigMap {spec.config_map.name} does not exist.")
    try:
        files = payload(spec, member.content)
    except PayloadError as error:
        return Wish(reason="InvalidSpec", words=str(error))
    taken = next((file.path for file in files if file.path in owners), None)
    if taken is not None:
        return Wish(reason="PathTaken", words=f"JailedConfig {owners[taken]} writes {taken} already.")
    return Wish(files)


def written(wish: Wish) -> Condition:
    """What is said of the files once all that could be written is."""
    if wish.reason:
        return Condition(FILES_WRITTEN, "False", wish.reason, wish.words)
    words = f"{len(wish.files)} files are in the jail as the ConfigMap has them."
    return Condition(FILES_WRITTEN, "True", "Success", words)


def not_written(reason: str, words: str) -> Condition:
    """The files could not be written, or are about to be."""
    return Condition(FILES_WRITTEN, "False", reason, words)


def acted(member: Member, wish: Wish, *, alone: bool) -> Condition:
    """What is said of the update actions when none is under way."""
    if wish.reason:
        words = "Slurm is not told of files that are not written."
        return Condition(UPDATE_ACTIONS_COMPLETED, "False", "NotWritten", words)
    if not member.reconfigures and alone:
        return Condition(UPDATE_ACTIONS_COMPLETED, "True", "MissingAction", "There is nothing to do.")
    words = "Slurm has read its configuration." if member.reconfigures else "There is nothing to do."
    return Condition(UPDATE_ACTIONS_COMPLETED, "True", "Success", words)


def waiting(reason: str, words: str) -> Condition:
    """What is said while Slurm has not read the files."""
    return Condition(UPDATE_ACTIONS_COMPLETED, "False", reason, words)

"""What a controller did to pods and its cache does not show yet.

A reconcile that counts pods in a cache which lags behind its own writes would create or delete too many. So
it notes each pod it creates or deletes, the informer's events strike the notes out, and until all are struck
out (or too old to believe) it takes no further step that depends on the count. Notes are names, not numbers:
an event seen twice or out of order strikes out nothing it should not.
"""

import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

O = TypeVar("O", bound=Hashable)  # noqa: E741 - the owner's key


class Expectations(Generic[O]):
    """Creations by name and deletions by uid that the cache of each owner's pods has yet to show.

    Guarantees: an owner is `settled` once every note is struck out or older than `patience` seconds.
    Assumptions: notes are taken before the request is sent, and struck out by the caller if it fails.
    """

    def __init__(self, *, patience: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        # No owner has an empty dict: absent and settled are the same.
        self._notes: dict[O, dict[str, float]] = {}

    def expect(self, owner: O, notes: Iterable[str]) -> None:
        """Note pods about to be created (their names) or deleted (their uids)."""
        expires = self._clock() + self._patience
        if fresh := dict.fromkeys(notes, expires):
            self._notes.setdefault(owner, {}).update(fresh)

    def seen(self, owner: O, note: str) -> None:
        """The cache shows it, or the request failed."""
        notes = self._notes.get(owner)
        if notes and notes.pop(note, None) and not notes:
            del self._notes[owner]

    def settled(self, owner: O) -> bool:
        """Whether counts taken from the cache can be trusted for this owner."""
        return not self.pending(owner)

    def pending(self, owner: O) -> frozenset[str]:
        """The notes not struck out yet; those that are too old are dropped, the cache knows better by now."""
        now = self._clock()
        notes = {note: expires for note, expires in self._notes.get(owner, {}).items() if expires > now}
        if notes:
            self._notes[owner] = notes
        else:
            self._notes.pop(owner, None)
        return frozenset(notes)

    def forget(self, owner: O) -> None:
        """The owner is gone."""
        self._notes.pop(owner, None)

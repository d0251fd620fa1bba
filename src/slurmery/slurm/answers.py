"""From an HTTP answer to a typed one, or to one of our errors.

slurmrestd reports failures in `errors[]`, under status 200 as well as under others. A list that is absent
from an answer is not an empty list: it makes the answer garbled.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from slurmery.slurm.decoding import decode, decode_items
from slurmery.slurm.errors import (
    DeadlineError,
    GarbledError,
    RejectedError,
    SlurmError,
    UnauthorisedError,
    UnexplainedError,
    UnofferedError,
    UnreachableError,
    from_number,
)
from slurmery.slurm.model import UNSET_NUMBER, Job, MaybeNumber, Node, value
from slurmery.slurm.records import AccountedJob, Diag, JobState, Partition, Ping, Reservation

T = TypeVar("T")

_TEXT_LIMIT: Final = 500
_BY_STATUS: Final[dict[int, type[SlurmError]]] = {
    401: UnauthorisedError,
    404: UnofferedError,
    502: UnreachableError,
    504: DeadlineError,
    511: UnauthorisedError,
}
_LONG: Final = 1 << 20


class Problem(msgspec.Struct, frozen=True, gc=False):
    """One entry of `errors[]`."""

    description: str = ""
    error_number: int = 0
    error: str = ""

    @property
    def text(self) -> str:
        said = self.error if self.error_number else ""
        return ": ".join(filter(None, [self.description, said]))[:_TEXT_LIMIT] or "no description"


class Caution(msgspec.Struct, frozen=True, gc=False):
    """One entry of `warnings[]`."""

    description: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer has."""

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Caution, ...] = ()


A = TypeVar("A", bound=Answer)


class ListAnswer(Answer, Generic[T], frozen=True, kw_only=True):
    """A list, and the time as of which it is complete: 0 if Slurm sent none because nothing changed."""

    items: tuple[T, ...] | UnsetType = UNSET
    raw_last_update: MaybeNumber = msgspec.field(name="last_update", default=UNSET_NUMBER)

    @property
    def last_update(self) -> int:
        return value(self.raw_last_update) or 0


L = TypeVar("L", bound=ListAnswer[Any])


class NodesAnswer(ListAnswer[Node], frozen=True, kw_only=True):
    items: tuple[Node, ...] | UnsetType = msgspec.field(name="nodes", default=UNSET)


class JobsAnswer(ListAnswer[Job], frozen=True, kw_only=True):
    items: tuple[Job, ...] | UnsetType = msgspec.field(name="jobs", default=UNSET)


class PartitionsAnswer(ListAnswer[Partition], frozen=True, kw_only=True):
    items: tuple[Partition, ...] | UnsetType = msgspec.field(name="partitions", default=UNSET)


class ReservationsAnswer(ListAnswer[Reservation], frozen=True, kw_only=True):
    items: tuple[Reservation, ...] | UnsetType = msgspec.field(name="reservations", default=UNSET)


class JobStatesAnswer(ListAnswer[JobState], frozen=True, kw_only=True):
    items: tuple[JobState, ...] | UnsetType = msgspec.field(name="jobs", default=UNSET)


class PingsAnswer(ListAnswer[Ping], frozen=True, kw_only=True):
    items: tuple[Ping, ...] | UnsetType = msgspec.field(name="pings", default=UNSET)


class AccountedJobsAnswer(ListAnswer[AccountedJob], frozen=True, kw_only=True):
    items: tuple[AccountedJob, ...] | UnsetType = msgspec.field(name="jobs", default=UNSET)


class DiagAnswer(Answer, frozen=True, kw_only=True):
    statistics: Diag | UnsetType = UNSET


class SubmitAnswer(Answer, frozen=True, kw_only=True):
    job_id: int | UnsetType = UNSET


class KillProblem(msgspec.Struct, frozen=True, gc=False):
    """Why one job was not signalled."""

    code: int = 0
    message: str = ""


class KillStatus(msgspec.Struct, frozen=True, gc=False):
    """What became of one of the jobs to cancel."""

    error: KillProblem = msgspec.field(default_factory=KillProblem)
    step_id: str = ""


class KillAnswer(Answer, frozen=True, kw_only=True):
    status: tuple[KillStatus, ...] = ()


def read(status: int, body: bytes | bytearray, kind: type[A], secret: str = "") -> A:
    """The typed answer; raises a SlurmError for anything but success, with `secret` struck out."""
    answer = _decode(body, kind) if 200 <= status < 300 else _failure(status, body)
    if isinstance(answer, Answer) and answer.errors:
        worst = _worst(answer.errors)
        answer = worst if worst.number else UnexplainedError(worst.text)
    if isinstance(answer, SlurmError):
        # An error page, or an error of Slurm's, may quote the request.
        text = answer.text.replace(secret, "...") if secret else answer.text
        raise type(answer)(text, answer.number)
    return answer


def _decode(body: bytes | bytearray, kind: type[A]) -> A | GarbledError:
    try:
        if isinstance(body, bytearray) and len(body) > _LONG and issubclass(kind, ListAnswer):
            with suppress(msgspec.DecodeError):
                return _decode_long(body, kind)
        return decode(body, kind)
    except (msgspec.DecodeError, RecursionError) as error:
        return GarbledError(f"slurmrestd's answer cannot be read: {error}"[:_TEXT_LIMIT])


def _decode_long(body: bytearray, kind: type[L]) -> L:
    key = kind.__struct_encode_fields__[kind.__struct_fields__.index("items")]
    first, rest = decode_items(body, key, get_args(get_type_hints(kind)["items"])[0])
    answer = decode(rest, kind)
    if not first or answer.items is UNSET:
        return answer
    return msgspec.structs.replace(answer, items=(*first, *answer.items))


def _failure(status: int, body: bytes | bytearray) -> SlurmError:
    answer = _decode(body, Answer)
    error = _BY_STATUS.get(status, RejectedError)
    if isinstance(answer, GarbledError):  # slurmrestd's plain-text refusals, or a proxy's page
        return error(f"HTTP {status}: {bytes(body[:_TEXT_LIMIT]).decode(errors='replace').strip()}")
    if not answer.errors:
        return error(f"HTTP {status} without an explanation")
    worst = _worst(answer.errors)
    return UnauthorisedError(worst.text, worst.number) if error is UnauthorisedError else worst


def _worst(errors: tuple[Problem, ...]) -> SlurmError:
    """The entry we know how to tell apart, else the first with a number, else the first."""
    candidates = [from_number(problem.error_number, problem.text) for problem in errors]
    return min(candidates, key=lambda error: (type(error) is RejectedError, error.number == 0))

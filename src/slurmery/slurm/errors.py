"""What can go wrong between us and Slurm.

    SlurmError
    ├── UnreachableError    nobody answered: no connection, a cut-off answer, slurmctld gone
    ├── DeadlineError       no answer in time, from slurmrestd or from the daemon behind it
    ├── UnauthorisedError   the token is missing, wrong or expired
    ├── RefusedError        the token is good, but its user may not do this
    ├── NotFoundError       no such node, job or reservation
    ├── UnofferedError      this slurmrestd has no such call
    ├── GarbledError        an answer that is not what slurmrestd sends
    ├── RejectedError       Slurm said no for any other reason
    │   └── UnexplainedError    status 200, an error without a number: what it says of unknown names
    └── TokenError          there is no token to send

Every one carries Slurm's `number` (0 if it gave none) and a sentence. None carries a token, and none is
chained to a library's exception, because those hold the request with its headers. Cancellation and
programming errors are never wrapped.
"""

from __future__ import annotations

import errno


class SlurmError(Exception):
    """Slurm gave no good answer. Nothing may be concluded about what it would have said."""

    def __init__(self, text: str, number: int = 0) -> None:
        super().__init__(f"{text} (Slurm error {number})" if number else text)
        self.text = text
        self.number = number


class UnreachableError(SlurmError):
    """Nobody answered. `sent` says whether the request may have taken effect."""

    def __init__(self, text: str, number: int = 0, *, sent: bool = True) -> None:
        super().__init__(text, number)
        self.sent = sent


class DeadlineError(SlurmError):
    """No answer in time; the request may have taken effect."""


class UnauthorisedError(SlurmError):
    """The token is missing, wrong or expired."""


class RefusedError(SlurmError):
    """The token's user lacks the privilege."""


class NotFoundError(SlurmError):
    """Slurm does not know the name or id."""


class UnofferedError(SlurmError):
    """This version of Slurm has no such call."""


class GarbledError(SlurmError):
    """The answer cannot be understood."""


class RejectedError(SlurmError):
    """Slurm said no."""


class UnexplainedError(RejectedError):
    """Slurm reports an error and success at once, and no number."""


class TokenError(SlurmError):
    """No token could be made, read or fetched."""


# Numbers of slurm/slurm_errno.h, and the system's where Slurm passes them on, that code of ours branches on.
_BY_NUMBER: dict[int, type[SlurmError]] = {
    1007: UnauthorisedError,  # protocol authentication error
    2002: RefusedError,  # access denied
    2010: RefusedError,  # invalid user id
    2017: NotFoundError,  # invalid job id
    2018: NotFoundError,  # invalid node name
    2053: NotFoundError,  # requested reservation is invalid
    1800: UnreachableError,  # slurmctld: connect failure
    1801: UnreachableError,  # slurmctld: send failure
    1802: UnreachableError,  # slurmctld: receive failure
    1803: UnreachableError,  # slurmctld: shutdown failure
    7000: UnreachableError,  # slurmdbd: no connection
    **dict.fromkeys(
        [errno.ECONNRESET, errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EPIPE], UnreachableError
    ),
    errno.ETIMEDOUT: DeadlineError,
    5004: DeadlineError,  # socket timed out
}


def from_number(number: int, text: str) -> SlurmError:
    """The error for one of Slurm's own numbers."""
    return _BY_NUMBER.get(number, RejectedError)(text, number)

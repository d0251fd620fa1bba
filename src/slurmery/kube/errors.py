"""What can go wrong between us and the API server.

    KubeError
    ├── ConfigError               no usable kubeconfig, service account or credential plugin
    ├── SelectorError             a label selector that is not one
    ├── NoAnswerError             refused, reset, TLS failure or no answer in time
    ├── AnswerError               an answer that is not what Kubernetes sends
    └── ApiError                  the API server said no, with a Status
        ├── UnauthorizedError     401  who are you
        ├── ForbiddenError        403  RBAC, admission or quota
        ├── NotFoundError         404  no such object (or no such namespace)
        │   └── NotServedError    404  no such resource: the CRD is not installed
        ├── ConflictError         409  resourceVersion, uid or field ownership
        │   └── AlreadyExistsError
        ├── GoneError             410  the resourceVersion or page is too old: list again
        ├── InvalidError          422  the object breaks its schema or a CEL rule
        ├── TooManyRequestsError  429  throttled, or a disruption budget refuses an eviction
        └── ServerError           5xx

ApiError has a subclass for each code that some code of ours branches on; any other code is a plain
ApiError. Programming errors and cancellation are never wrapped.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class KubeError(Exception):
    """Anything that this package raises on purpose."""


class ConfigError(KubeError):
    """The way to the cluster is not (well) described; the message names the file and the fix."""


class SelectorError(KubeError):
    """The label selector cannot be understood."""


class NoAnswerError(KubeError):
    """The request got no complete answer. Whether it took effect is unknown."""


class AnswerError(KubeError):
    """The answer is not JSON, or not of the expected shape."""


class Cause(NamedTuple):
    """One of the reasons in a Status: which field, what is wrong with it."""

    reason: str
    message: str
    field: str


class ApiError(KubeError):
    """The API server refused. `reason` is its machine word, `message` its sentence."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after = retry_after


class UnauthorizedError(ApiError):
    """401: the credentials are missing, wrong or expired."""


class ForbiddenError(ApiError):
    """403: known, but not allowed."""


class NotFoundError(ApiError):
    """404: no such object."""


class NotServedError(NotFoundError):
    """404: the API server does not serve this resource at all, as before its CRD is installed."""


class ConflictError(ApiError):
    """409: somebody else changed or owns it."""


class AlreadyExistsError(ConflictError):
    """409: the name is taken."""


class GoneError(ApiError):
    """410: the asked resourceVersion is no longer held."""


class InvalidError(ApiError):
    """422: `causes` lists every offending field."""


class TooManyRequestsError(ApiError):
    """429: come back after `retry_after` seconds."""


class ServerError(ApiError):
    """5xx: the API server, its storage or a webhook failed."""


class _Cause(msgspec.Struct):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _Details(msgspec.Struct, rename="camel"):
    name: str | None = None
    kind: str | None = None
    causes: list[_Cause] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct):
    """The failure report of the Kubernetes API."""

    kind: str = ""
    code: int = 0
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_BY_CODE: dict[int, type[ApiError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: TooManyRequestsError,
}


def from_answer(code: int, body: bytes, *, retry_after: str | None = None) -> ApiError:
    """The error for an HTTP answer of 400 or more, whoever wrote its body."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        status = Status()
    if status.kind != "Status":  # a proxy's words, or the router's "404 page not found"
        status = Status(code=code, message=body.decode(errors="replace").strip()[:500])
    status.code = code
    return from_status(status, retry_after=retry_after)


def from_status(status: Status, *, retry_after: str | None = None) -> ApiError:
    """The error for a Status, from an answer or from a watch event."""
    details = status.details or _Details()
    seconds = float(retry_after) if retry_after and retry_after.isdigit() else details.retry_after_seconds
    return _class(status, details)(
        status.code,
        status.reason or "Unknown",
        status.message or "no message",
        causes=tuple(Cause(c.reason or "", c.message or "", c.field or "") for c in details.causes or ()),
        retry_after=seconds,
    )


def _class(status: Status, details: _Details) -> type[ApiError]:
    if status.code >= 500:
        return ServerError
    if status.code == 404 and not details.name:
        return NotServedError
    if status.reason == "AlreadyExists":
        return AlreadyExistsError
    return _BY_CODE.get(status.code, ApiError)

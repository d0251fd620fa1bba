"""The envelope: AdmissionReview, v1 and v1beta1, in and out.

AdmissionError
└── ReviewError   the body is no AdmissionReview that we can answer
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import msgspec

from slurmery.api.validation import Problem

VERSIONS = ("v1", "v1beta1")
_API_VERSIONS = frozenset(f"admission.k8s.io/{version}" for version in VERSIONS)

Object = dict[str, Any]


class AdmissionError(Exception):
    """Anything that this package raises on purpose."""


class ReviewError(AdmissionError):
    """The body is no AdmissionReview; the message says why."""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What somebody is about to do to an object."""

    uid: str
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    name: str = ""
    namespace: str = ""
    object: Object | None = None
    old_object: Object | None = None


class Review(msgspec.Struct, frozen=True, rename="camel"):
    """A question of the API server's."""

    api_version: str
    kind: str
    request: Request


@dataclass(frozen=True)
class Operation:
    """One step of a JSON patch: put a value under these names, the last of which may be new."""

    steps: tuple[str, ...]
    value: Any

    def rendered(self) -> Object:
        escaped = (step.replace("~", "~0").replace("/", "~1") for step in self.steps)
        return {"op": "add", "path": "".join(f"/{step}" for step in escaped), "value": self.value}


@dataclass(frozen=True)
class Verdict:
    """The answer. `problems` are the refused fields one by one, for programs; `message` is for people."""

    allowed: bool = True
    message: str = ""
    code: HTTPStatus = HTTPStatus.FORBIDDEN
    warnings: tuple[str, ...] = ()
    patch: tuple[Operation, ...] = ()
    problems: tuple[Problem, ...] = field(default=())

    @classmethod
    def on(cls, problems: Iterable[Problem]) -> "Verdict":
        """Every error at once; warnings alone refuse nothing."""
        unique = tuple(dict.fromkeys(problems))
        errors = tuple(problem for problem in unique if not problem.warning)
        return cls(
            allowed=not errors,
            message="; ".join(map(str, errors)),
            code=HTTPStatus.UNPROCESSABLE_ENTITY,
            warnings=tuple(f"{p.path}: {p.message}" for p in unique if p.warning),
            problems=errors,
        )

    @classmethod
    def denied(cls, message: str, code: HTTPStatus = HTTPStatus.FORBIDDEN) -> "Verdict":
        return cls(allowed=False, message=message, code=code)


ALLOWED = Verdict()

_REASONS = {
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
}
_decode = msgspec.json.Decoder(Review).decode


def decode(body: bytes) -> Review:
    """The review in a request's body."""
    try:
        review = _decode(body)
    except (ValueError, RecursionError) as error:
        raise ReviewError(f"this is not an AdmissionReview: {error}") from error
    if review.kind != "AdmissionReview" or review.api_version not in _API_VERSIONS:
        raise ReviewError(
            f"{review.api_version} {review.kind} is not one of {', '.join(sorted(_API_VERSIONS))}"
        )
    return review


def encode(review: Review, verdict: Verdict) -> bytes:
    """The same review with our response, in the version that was asked in."""
    response: Object = {"uid": review.request.uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = _status(review.request, verdict)
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    if verdict.allowed and verdict.patch:
        steps = msgspec.json.encode([operation.rendered() for operation in verdict.patch])
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(steps).decode()}
    return msgspec.json.encode(
        {"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response}
    )


def _status(request: Request, verdict: Verdict) -> Object:
    status: Object = {
        "status": "Failure",
        "code": verdict.code.value,
        "reason": _REASONS[verdict.code],
        "message": verdict.message,
    }
    if verdict.problems:
        # With these, kubectl prints a line for each field.
        status["details"] = {
            "name": request.name,
            "kind": (request.object or {}).get("kind", ""),
            "causes": [
                {"reason": "FieldValueInvalid", "message": problem.message, "field": problem.path}
                for problem in verdict.problems
            ],
        }
    return status

"""From an answer to the error that says it."""

import pytest

from slurmery.kube import errors
from slurmery.kube.errors import ApiError, Cause, from_answer

STATUS = b"""{"kind": "Status", "code": 422, "reason": "Invalid", "message": "Pod is invalid",
"details": {"name": "a", "kind": "Pod", "retryAfterSeconds": 3, "causes": [
  {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"},
  {"message": null}]}}"""


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", ApiError),
        (401, "Unauthorized", errors.UnauthorizedError),
        (403, "Forbidden", errors.ForbiddenError),
        (404, "NotFound", errors.NotFoundError),
        (409, "Conflict", errors.ConflictError),
        (409, "AlreadyExists", errors.AlreadyExistsError),
        (410, "Expired", errors.GoneError),
        (422, "Invalid", errors.InvalidError),
        (429, "TooManyRequests", errors.TooManyRequestsError),
        (500, "InternalError", errors.ServerError),
        (504, "Timeout", errors.ServerError),
    ],
)
def test_each_code_that_we_branch_on_is_a_class(code: int, reason: str, kind: type[ApiError]) -> None:
    error = from_answer(
        code, b'{"kind": "Status", "reason": "%s", "details": {"name": "a"}}' % reason.encode()
    )
    assert type(error) is kind
    assert (error.status, error.reason) == (code, reason)


def test_all_causes_are_kept() -> None:
    error = from_answer(422, STATUS)
    assert error.causes == (
        Cause("FieldValueRequired", "Required value", "spec.containers"),
        Cause("", "", ""),
    )
    assert str(error) == "422 Invalid: Pod is invalid"


def test_the_header_tells_the_pause_better_than_the_body() -> None:
    assert from_answer(429, STATUS, retry_after="11").retry_after == 11
    assert from_answer(429, STATUS, retry_after="Wed, 21 Oct 2026 07:28:00 GMT").retry_after == 3
    assert from_answer(429, b"slow down").retry_after is None


def test_a_missing_object_differs_from_a_missing_resource() -> None:
    assert type(from_answer(404, b"404 page not found\n")) is errors.NotServedError
    named = b'{"kind": "Status", "reason": "NotFound", "details": {"name": "a", "kind": "pods"}}'
    assert type(from_answer(404, named)) is errors.NotFoundError


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[]", b'{"kind": "Pod"}', b"<html>" + b"x" * 10_000])
def test_any_body_at_all_makes_an_error(body: bytes) -> None:
    error = from_answer(502, body)
    assert isinstance(error, errors.ServerError)
    assert len(str(error)) < 600

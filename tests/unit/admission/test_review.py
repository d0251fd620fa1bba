"""AdmissionReviews in and out."""

import base64
import contextlib
import json
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slurmery.admission.review import Operation, ReviewError, Verdict, decode, encode
from slurmery.api.validation import Problem

REQUEST = {
    "uid": "u",
    "operation": "CREATE",
    "kind": {"kind": "Pod"},
    "object": {"kind": "Pod"},
    "options": None,
}


def body(version: str = "v1", **request: Any) -> bytes:
    review = {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview"}
    return json.dumps(review | {"request": REQUEST | request}).encode()


def response(verdict: Verdict, version: str = "v1") -> dict[str, Any]:
    answer = json.loads(encode(decode(body(version)), verdict))
    assert answer["apiVersion"] == f"admission.k8s.io/{version}"
    assert answer["kind"] == "AdmissionReview"
    return dict(answer["response"])


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_answer_comes_in_the_version_of_the_question(version: str) -> None:
    assert response(Verdict(), version) == {"uid": "u", "allowed": True}


def test_a_refusal_names_every_field() -> None:
    verdict = Verdict.on(
        [Problem("spec.a", "is bad"), Problem("spec.b", "is worse"), Problem("spec.a", "is bad")]
    )

    assert response(verdict)["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "spec.a: is bad; spec.b: is worse",
        "details": {
            "name": "",
            "kind": "Pod",
            "causes": [
                {"reason": "FieldValueInvalid", "message": "is bad", "field": "spec.a"},
                {"reason": "FieldValueInvalid", "message": "is worse", "field": "spec.b"},
            ],
        },
    }


def test_warnings_alone_refuse_nothing() -> None:
    verdict = Verdict.on([Problem("spec.a", "is odd", warning=True)])

    assert response(verdict) == {"uid": "u", "allowed": True, "warnings": ["spec.a: is odd"]}


def test_a_patch_is_a_json_patch_with_escaped_names() -> None:
    answer = response(Verdict(patch=(Operation(("metadata", "annotations", "a.b/c~d"), "v"),)))

    assert answer["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(answer["patch"])) == [
        {"op": "add", "path": "/metadata/annotations/a.b~1c~0d", "value": "v"}
    ]


def test_a_refusal_changes_nothing() -> None:
    refusal = Verdict(allowed=False, message="no", code=HTTPStatus.FORBIDDEN, patch=(Operation(("a",), 1),))

    assert set(response(refusal)) == {"uid", "allowed", "status"}


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        body().replace(b"AdmissionReview", b"ConversionReview"),
        body("v2"),
        body(uid=None),
        body(operation="PATCH"),
        body(object=[]),
        body(oldObject="x"),
    ],
    ids=lambda given: given[:20].decode(errors="replace"),
)
def test_what_is_no_review_is_named_as_such(given: bytes) -> None:
    with pytest.raises(ReviewError):
        decode(given)


@given(st.binary(), st.integers(0, 300), st.binary(max_size=3))
@example(b"", 0, b"")
def test_no_body_whatever_raises_anything_else(junk: bytes, place: int, spoilt: bytes) -> None:
    good = body()
    for text in (junk, good[:place] + spoilt + good[place:], good[:place] + spoilt):
        with contextlib.suppress(ReviewError):
            decode(text)

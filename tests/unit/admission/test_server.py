"""Whatever is asked is answered, in time and without a traceback."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmery.admission.hooks import ALL
from slurmery.admission.lookups import Answers, Want
from slurmery.admission.server import MOST_BYTES, LookUp, application
from tests.unit.admission.reviews import BY_PATH, manifest, nothing_exists

RESTAPI, BINDING = "/validate-slinky-slurm-net-v1beta1-restapi", "/mutate--v1-binding"
REF = {"controllerRef": {"name": "slurm"}}


def body(object_: Any, **request: Any) -> bytes:
    asked = {"uid": "u", "operation": "CREATE", "namespace": "ns", "name": "x", "object": object_} | request
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return json.dumps(review).encode()


async def answer(path: str, data: bytes, look_up: LookUp = nothing_exists) -> tuple[int, str]:
    async with TestClient(TestServer(application(ALL, look_up))) as client:
        response = await client.post(path, data=io.BytesIO(data))
        return response.status, await response.text()


async def verdict(path: str, data: bytes, look_up: LookUp = nothing_exists) -> dict[str, Any]:
    status, text = await answer(path, data, look_up)
    assert status == 200, text
    return dict(json.loads(text)["response"])


async def test_a_good_object_is_allowed() -> None:
    response = await verdict(RESTAPI, body(manifest("RestApi", REF)))

    assert response["uid"] == "u"
    assert response["allowed"]
    assert response["warnings"] == ["spec.controllerRef: Controller slurm does not exist yet"]


async def crashes(_: Iterable[Want]) -> Answers:
    raise RuntimeError("secret words")


async def freezes(_: Iterable[Want]) -> Answers:
    await asyncio.sleep(3600)
    return {}


async def test_an_error_of_ours_refuses_what_is_fail_closed_and_lets_the_rest_pass() -> None:
    closed = await verdict(RESTAPI, body(manifest("RestApi", REF)), crashes)
    opened = await verdict(BINDING, body({"target": {"name": "n"}}), crashes)

    assert not closed["allowed"]
    assert closed["status"]["reason"] == "InternalError"
    assert "internal error, see the log" in closed["status"]["message"]
    assert opened["allowed"]
    assert "podsbinding-v1.kb.io let this pass unseen" in opened["warnings"][0]
    assert "secret words" not in json.dumps([closed, opened])


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("asked", "seconds"), [("", 8), ("?timeout=2s", 1.6), ("?timeout=30s", 8), ("?timeout=x", 8)]
)
async def test_a_review_ends_before_the_api_server_loses_patience(asked: str, seconds: float) -> None:
    begin = asyncio.get_running_loop().time()
    response = await verdict(f"{RESTAPI}{asked}", body(manifest("RestApi", REF)), freezes)

    assert asyncio.get_running_loop().time() - begin == pytest.approx(seconds, abs=0.5)
    assert f"no answer within {seconds:g} s" in response["status"]["message"]


async def test_what_is_no_review_gets_a_sentence() -> None:
    status, text = await answer(RESTAPI, b"hello")
    assert (status, text.count("\n")) == (400, 1)
    assert "this is not an AdmissionReview" in text
    assert (await answer(RESTAPI, b"x" * (MOST_BYTES + 1)))[0] == 413
    assert (await answer("/elsewhere", b""))[0] == 404


@pytest.mark.looptime
async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(3600)

    async with TestClient(TestServer(application(ALL, nothing_exists))) as client:
        response = await client.post(f"{RESTAPI}?timeout=5s", data=slow())
        assert (response.status, await response.text()) == (408, "no body within 4 s\n")


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["RestApi", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "name", "annotations", "target", "kind", "ha", "rebooter"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)
WORDS = st.sampled_from(["CREATE", "UPDATE", "DELETE", "CONNECT", "PATCH"])


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(sorted(BY_PATH)), JSON, JSON, WORDS, st.text(max_size=3))
async def test_no_review_however_odd_gets_a_traceback(
    path: str, new: Any, old: Any, operation: str, name: str
) -> None:
    status, text = await answer(path, body(new, oldObject=old, operation=operation, name=name))

    assert status in {200, 400}, text
    assert "Traceback" not in text
    if status == 200:
        assert set(json.loads(text)["response"]) <= {
            "uid",
            "allowed",
            "status",
            "warnings",
            "patch",
            "patchType",
        }


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
async def test_no_body_however_odd_gets_a_traceback(junk: bytes) -> None:
    status, text = await answer(RESTAPI, junk)
    assert status == 400
    assert "Traceback" not in text

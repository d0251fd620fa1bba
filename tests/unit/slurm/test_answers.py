"""Which error each bad answer is. Statuses and bodies are those of real slurmrestd, or of proxies."""

import json

import pytest

from slurmery.slurm import answers
from slurmery.slurm.errors import (
    DeadlineError,
    GarbledError,
    NotFoundError,
    RefusedError,
    RejectedError,
    SlurmError,
    UnauthorisedError,
    UnexplainedError,
    UnofferedError,
    UnreachableError,
)


def body(*problems: tuple[int, str, str]) -> bytes:
    errors = [{"error_number": n, "description": d, "error": e, "source": "x"} for n, d, e in problems]
    return json.dumps({"errors": errors, "warnings": []}).encode()


@pytest.mark.parametrize(
    ("status", "content", "error", "number"),
    [
        (401, b"Authentication failure", UnauthorisedError, 0),
        (
            511,
            body((1007, "Failure to query nodes", "Protocol authentication error")),
            UnauthorisedError,
            1007,
        ),
        (422, body((2010, "Failure to update node n0", "Invalid user id")), RefusedError, 2010),
        (500, body((2010, "Failure to update node n0", "Invalid user id")), RefusedError, 2010),
        (404, body((2017, "Unable to query JobId=9", "Invalid job id specified")), NotFoundError, 2017),
        (500, body((2018, "Failure to update node x", "Invalid node name specified")), NotFoundError, 2018),
        (422, body((2053, "Error deleting reservation r", "invalid")), NotFoundError, 2053),
        (
            502,
            body((1800, "Failure to query nodes", "Unable to contact slurm controller")),
            UnreachableError,
            1800,
        ),
        (504, body((5004, "Failure to query nodes", "Socket timed out")), DeadlineError, 5004),
        (500, body((104, "Failure to query nodes", "Connection reset by peer")), UnreachableError, 104),
        (504, b'{"errors": [], "warnings": [], "meta": {}}', DeadlineError, 0),
        (404, b"Unable find requested URL.", UnofferedError, 0),
        (422, body((2028, "Failure to delete node n0", "Invalid node state specified")), RejectedError, 2028),
        (
            500,
            body((9207, "Unknown flag", "x"), (2180, "Failure", "Invalid transition")),
            RejectedError,
            9207,
        ),
        (500, body((0, "Failure", "No error")), RejectedError, 0),
        (400, b"Unable to parse query.", RejectedError, 0),
        (500, b"<html>proxy</html>", RejectedError, 0),
        (302, b"", RejectedError, 0),
        (200, body((0, "Failure to query node x", "No error")), UnexplainedError, 0),
        (200, body((2018, "Failure", "Invalid node name specified")), NotFoundError, 2018),
        (200, body((0, "Failure", "No error"), (1007, "x", "y")), UnauthorisedError, 1007),
        (200, b"<html>It works!</html>", GarbledError, 0),
        (200, b"", GarbledError, 0),
        (200, b'{"nodes": [', GarbledError, 0),
        (200, b'{"errors": null}', GarbledError, 0),
        (200, b'{"nodes": {"n0": {}}}', GarbledError, 0),
        (200, b"[" * 100_000, GarbledError, 0),
        (200, b'{"x":' * 100_000, GarbledError, 0),
    ],
)
def test_every_bad_answer_has_its_error(
    status: int, content: bytes, error: type[SlurmError], number: int
) -> None:
    with pytest.raises(SlurmError) as caught:
        answers.read(status, content, answers.NodesAnswer)
    assert (type(caught.value), caught.value.number) == (error, number)
    assert caught.value.text
    assert caught.value.__cause__ is None


def test_a_users_bytes_in_a_job_name_do_not_blind_us() -> None:
    content = b'{"jobs": [{"job_id": 1, "name": "caf\xe9 \xff\xfe"}, {"job_id": 2, "name": "ok \xc3\xa9"}]}'
    answer = answers.read(200, content, answers.JobsAnswer)
    assert isinstance(answer.items, tuple)
    assert [job.name for job in answer.items] == ["caf\ufffd \ufffd\ufffd", "ok é"]


def test_long_complaints_are_cut() -> None:
    with pytest.raises(RejectedError) as caught:
        answers.read(500, b"x" * 10_000, answers.Answer)
    assert len(str(caught.value)) < 600

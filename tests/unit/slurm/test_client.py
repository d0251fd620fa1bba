"""What the client asks, and what it makes of the answers."""

import json

import pytest

from slurmery.slurm.client import VERSIONS, SlurmClient
from slurmery.slurm.errors import (
    GarbledError,
    NotFoundError,
    RejectedError,
    UnauthorisedError,
    UnofferedError,
    UnreachableError,
)
from slurmery.slurm.model import Number
from slurmery.slurm.requests import JobFilter, JobRequest, NodeUpdate, ReservationRequest
from slurmery.slurm.tokens import StaticToken
from tests.unit.slurm.recordings import RELEASES, recording
from tests.unit.slurm.restd import Restd, answer, failure, http

V = "/slurm/v0.0.44"
COUNTED = (f"GET {V}/nodes/?update_time=uts2147483647", b"HTTP/1.1 304 NOT MODIFIED\r\n\r\n")
UNCHANGED: dict[str, object] = {"last_update": {"set": True, "infinite": False, "number": 0}, "jobs": []}


def client(restd: Restd, version: str = "v0.0.44") -> SlurmClient:
    return SlurmClient(restd.url, StaticToken("t"), version=version, deadline=5)


@pytest.mark.parametrize(("release", "version"), RELEASES)
async def test_the_newest_version_is_found_and_remembered(restd: Restd, release: str, version: str) -> None:
    restd.on(f"GET /slurm/{version}/ping/", http(200, recording(release, version, "ping")))
    restd.on(f"GET /slurm/{version}/nodes/", http(200, recording(release, version, "nodes")))
    slurm = client(restd, version="")
    assert await slurm.version() == version
    pings = len(restd.seen)
    assert pings == VERSIONS.index(version) + 1
    listing = await slurm.nodes()
    assert listing is not None
    assert [node.name for node in listing.items] == ["n0", "n1"]
    assert listing.last_update > 1_700_000_000
    assert len(restd.seen) == pings + 1


async def test_a_server_that_is_no_slurmrestd_is_said_to_speak_no_version(restd: Restd) -> None:
    with pytest.raises(UnofferedError, match=r"none of v0\.0\.40 to v0\.0\.45"):
        await client(restd, version="").nodes()


async def test_a_wrong_token_does_not_look_like_a_wrong_version(restd: Restd) -> None:
    restd.on("GET /slurm/v0.0.45/ping/", http(401, b"Authentication failure"))
    with pytest.raises(UnauthorisedError):
        await client(restd, version="").nodes()
    assert len(restd.seen) == 1


async def test_an_upgrade_of_slurm_is_noticed(restd: Restd) -> None:
    restd.on("GET /slurm/v0.0.41/ping/", answer(pings=[]))
    slurm = client(restd, version="")
    assert await slurm.version() == "v0.0.41"
    restd.on("GET /slurm/v0.0.41/ping/")
    restd.on("GET /slurm/v0.0.45/ping/", answer(pings=[]))
    restd.on("GET /slurm/v0.0.45/nodes/", answer(nodes=[]))
    with pytest.raises(UnofferedError):
        await slurm.nodes()
    assert await slurm.nodes() is not None
    assert await slurm.version() == "v0.0.45"


async def test_unchanged_lists_are_none(restd: Restd) -> None:
    slurm = client(restd)
    restd.on(f"GET {V}/nodes/?update_time=uts7", b"HTTP/1.1 304 NOT MODIFIED\r\n\r\n")
    assert await slurm.nodes(since=7) is None
    warning = {"description": "No job changes since update_time[7]", "source": "op_handler_jobs"}
    restd.on(f"GET {V}/jobs/?update_time=uts7", answer(**UNCHANGED, warnings=[warning]))
    assert await slurm.jobs(since=7) is None


async def test_a_slurm_that_cannot_say_what_changed_is_asked_for_everything(restd: Restd) -> None:
    restd.on(f"GET {V}/nodes/?update_time=uts7", failure(500, -1, "Unable to query partitions"))
    restd.on(f"GET {V}/nodes/", answer(nodes=[{"name": "n0"}]), failure(500, -1))
    slurm = client(restd)
    listing = await slurm.nodes(since=7)
    assert listing is not None
    assert [node.name for node in listing.items] == ["n0"]
    with pytest.raises(RejectedError):
        await slurm.nodes(since=7)


async def test_a_list_that_became_empty_is_not_taken_for_unchanged(restd: Restd) -> None:
    emptied = answer(jobs=[], last_update={"set": True, "infinite": False, "number": 9})
    restd.on(f"GET {V}/jobs/?update_time=uts7", emptied)
    listing = await client(restd).jobs(since=7)
    assert listing is not None
    assert (listing.items, listing.last_update) == ((), 9)


async def test_a_list_that_is_missing_is_not_taken_for_empty_or_unchanged(restd: Restd) -> None:
    restd.on(f"GET {V}/nodes/", answer())
    restd.on(f"GET {V}/nodes/?update_time=uts7", answer())
    for since in (0, 7):
        with pytest.raises(GarbledError, match="no list"):
            await client(restd).nodes(since)


async def test_an_empty_list_without_a_word_is_an_empty_list(restd: Restd) -> None:
    restd.on(f"GET {V}/jobs/?update_time=uts7", answer(**UNCHANGED))
    listing = await client(restd).jobs(since=7)
    assert listing is not None
    assert listing.items == ()


async def test_an_unanswered_question_is_not_taken_for_unchanged(restd: Restd) -> None:
    restd.on(f"GET {V}/ping/", b"HTTP/1.1 304 NOT MODIFIED\r\n\r\n")
    with pytest.raises(GarbledError):
        await client(restd).ping()


@pytest.mark.parametrize("reply", [failure(200, 0, "Failure to query node x"), failure(200, 2018)])
async def test_an_unknown_node_is_not_found(restd: Restd, reply: bytes) -> None:
    restd.on(*COUNTED)
    restd.on(f"GET {V}/node/x", reply)
    with pytest.raises(NotFoundError):
        await client(restd).node("x")


@pytest.mark.parametrize(
    "reply",
    [
        failure(500, 0),
        failure(200, 1),
        http(500, b"<html>"),
        http(403, b"denied"),
        answer(),
        answer(nodes=[]),
    ],
)
async def test_no_other_failure_is_taken_for_an_unknown_node(restd: Restd, reply: bytes) -> None:
    restd.on(*COUNTED)
    restd.on(f"GET {V}/node/x", reply)
    with pytest.raises((RejectedError, GarbledError)):
        await client(restd).node("x")


async def test_slurm_counts_its_allocations_before_it_is_asked_for_one_node(restd: Restd) -> None:
    restd.on(*COUNTED)
    restd.on(f"GET {V}/node/x", answer(nodes=[{"name": "x", "state": ["IDLE", "DRAIN"]}]))
    assert (await client(restd).node("x")).is_drained
    assert restd.calls == [COUNTED[0], f"GET {V}/node/x"]
    restd.on(COUNTED[0], failure(502, 1800))
    with pytest.raises(UnreachableError):
        await client(restd).node("x")


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_name_cannot_climb_out_of_its_path(restd: Restd, name: str) -> None:
    slurm = client(restd)
    for call in (slurm.delete_node(name), slurm.node(name), slurm.delete_reservation(name)):
        with pytest.raises(NotFoundError):
            await call
    assert restd.seen == []


async def test_names_are_percent_encoded(restd: Restd) -> None:
    restd.on(f"DELETE {V}/node/a%5B1-2%5D%2F..%3Fb%23%20c", answer())
    await client(restd).delete_node("a[1-2]/..?b# c")


async def test_an_update_sends_only_what_was_given(restd: Restd) -> None:
    restd.on(f"POST {V}/node/n0", answer())
    restd.on(f"POST {V}/nodes/", answer())
    slurm = client(restd)
    await slurm.update_node("n0", NodeUpdate(state=("DRAIN",), reason="slurmery: why"))
    await slurm.update_nodes(["n1", "n2", "m"], NodeUpdate(comment=""))
    await slurm.update_nodes([], NodeUpdate(comment="nobody"))
    assert [json.loads(seen.body) for seen in restd.seen] == [
        {"state": ["DRAIN"], "reason": "slurmery: why"},
        {"name": ["n[1-2],m"], "comment": ""},
    ]


async def test_submitting_gives_the_job_id(restd: Restd) -> None:
    job = JobRequest(
        name="j", current_working_directory="/tmp", environment=("A=b",), time_limit=Number(number=5)
    )
    restd.on(f"POST {V}/job/submit", answer(job_id=12), answer())
    slurm = client(restd)
    assert await slurm.submit("#!/bin/sh\n", job) == 12
    assert json.loads(restd.seen[0].body) == {
        "script": "#!/bin/sh\n",
        "job": {
            "name": "j",
            "current_working_directory": "/tmp",
            "environment": ["A=b"],
            "time_limit": {"set": True, "infinite": False, "number": 5},
        },
    }
    with pytest.raises(GarbledError):
        await slurm.submit("#!/bin/sh\n", job)


async def test_cancelling_what_has_ended_is_no_error_but_cancelling_nothing_is(restd: Restd) -> None:
    def status(code: int) -> dict[str, object]:
        return {"error": {"code": code, "message": "m", "string": "m"}, "step_id": "4"}

    slurm = client(restd)
    restd.on(
        f"DELETE {V}/jobs/", answer(status=[]), answer(status=[status(2021)]), answer(status=[status(2017)])
    )
    await slurm.cancel(4)
    await slurm.cancel("4_1", signal="TERM")
    with pytest.raises(NotFoundError, match="job 4"):
        await slurm.cancel(4)
    assert [json.loads(seen.body) for seen in restd.seen] == [
        {"jobs": ["4"]},
        {"jobs": ["4_1"], "signal": "TERM"},
        {"jobs": ["4"]},
    ]


@pytest.mark.parametrize(
    "choice", [JobFilter(), JobFilter(signal="KILL"), JobFilter(jobs=()), JobFilter(user_name="")]
)
async def test_all_jobs_are_never_cancelled_by_an_empty_filter(restd: Restd, choice: JobFilter) -> None:
    with pytest.raises(ValueError, match="every job"):
        await client(restd).cancel_jobs(choice)
    assert restd.seen == []


async def test_reservations_need_a_slurm_that_makes_them(restd: Restd) -> None:
    wish = ReservationRequest(name="r", node_list=("n0",), start_time=Number(number=5))
    with pytest.raises(UnofferedError, match=r"25\.05"):
        await client(restd, version="v0.0.42").reserve(wish)
    assert restd.seen == []
    restd.on(f"POST {V}/reservation", answer(reservations=[{"whatever": 1}]))
    await client(restd).reserve(wish)
    assert json.loads(restd.seen[0].body) == {
        "name": "r",
        "node_list": ["n0"],
        "start_time": {"set": True, "infinite": False, "number": 5},
    }


async def test_a_topology_needs_a_slurm_that_takes_it(restd: Restd) -> None:
    with pytest.raises(UnofferedError, match=r"25\.05"):
        await client(restd, version="v0.0.42").update_node("n0", NodeUpdate(topology_str="tree:s1"))
    assert restd.seen == []


async def test_reconfiguring_is_asked_for_once_even_if_the_answer_is_lost(restd: Restd) -> None:
    restd.on(f"GET {V}/reconfigure/", b"")
    with pytest.raises(Exception, match="broke off"):
        await client(restd).reconfigure()
    assert len(restd.seen) == 1


async def test_accounting_is_asked_of_slurmdb(restd: Restd) -> None:
    restd.on(
        "GET /slurmdb/v0.0.44/jobs/?users=alice", http(200, recording("26.05", "v0.0.44", "slurmdb_jobs"))
    )
    assert len(await client(restd).accounted_jobs({"users": "alice"})) == 2

"""Deadlines, repeats only where they are safe, and tokens that stay secret."""

import asyncio
import time
import traceback

import pytest

from slurmery.slurm.answers import Answer, JobsAnswer, NodesAnswer
from slurmery.slurm.errors import (
    DeadlineError,
    GarbledError,
    RejectedError,
    SlurmError,
    TokenError,
    UnauthorisedError,
    UnreachableError,
)
from slurmery.slurm.tokens import StaticToken
from slurmery.slurm.transport import Call, Transport
from tests.unit.slurm.restd import Restd, answer, failure, hang, http

V = "v0.0.45"
TARGET = f"/slurm/{V}/nodes/"
SECRET = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.c2lnbmF0dXJl"
READ = Call("GET", "nodes/", 10.0, reads=True)
WRITE = Call("POST", "nodes/", 10.0, body=b"{}")
CUT_OFF = http(200, b'{"nodes": []}')[:-5]


def transport(restd: Restd) -> Transport:
    return Transport(restd.url, StaticToken(SECRET))


@pytest.mark.usefixtures("impatient")
async def test_a_read_is_repeated_until_it_succeeds(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", CUT_OFF, b"", http(503, b"<html>"), answer(nodes=[]))
    reply = await transport(restd).send(READ, V, NodesAnswer)
    assert reply is not None
    assert reply.items == ()
    assert len(restd.seen) == 4


@pytest.mark.usefixtures("impatient")
async def test_a_read_is_repeated_three_times_and_no_more(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", CUT_OFF)
    with pytest.raises(UnreachableError):
        await transport(restd).send(READ, V, NodesAnswer)
    assert len(restd.seen) == 4


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("reply", [CUT_OFF, b"", http(503, b"<html>")])
async def test_a_write_whose_fate_is_unknown_is_not_repeated(restd: Restd, reply: bytes) -> None:
    restd.on(f"POST {TARGET}", reply)
    with pytest.raises(UnreachableError):
        await transport(restd).send(WRITE, V, Answer)
    assert len(restd.seen) == 1


@pytest.mark.looptime
async def test_a_write_that_never_left_is_repeated_with_growing_pauses() -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(UnreachableError, match="cannot connect"):
        await Transport("http://127.0.0.1:1", StaticToken("")).send(WRITE, V, Answer)
    assert 0.25 + 0.5 + 1.0 <= loop.time() - started <= 0.5 + 1.0 + 2.0


async def test_what_slurmrestd_has_already_waited_for_is_not_repeated(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", failure(502, 1800))
    with pytest.raises(UnreachableError) as caught:
        await transport(restd).send(READ, V, NodesAnswer)
    assert caught.value.number == 1800
    assert len(restd.seen) == 1


@pytest.mark.parametrize("deadline", [0.05, 0.2])
async def test_a_hanging_slurmrestd_costs_no_more_than_the_deadline(restd: Restd, deadline: float) -> None:
    restd.on(f"GET {TARGET}", hang)
    started = time.monotonic()
    with pytest.raises(DeadlineError, match=f"within {deadline}"):
        await transport(restd).send(Call("GET", "nodes/", deadline, reads=True), V, NodesAnswer)
    assert time.monotonic() - started < deadline + 2


async def test_a_dripping_slurmrestd_costs_no_more_than_the_deadline(restd: Restd) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    restd.on(f"GET {TARGET}", drip)
    with pytest.raises(DeadlineError):
        await transport(restd).send(Call("GET", "nodes/", 0.1, reads=True), V, NodesAnswer)


async def test_cancelling_a_call_is_not_an_error_of_slurm(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", hang)
    task = asyncio.create_task(transport(restd).send(READ, V, NodesAnswer))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_hundred_megabytes_are_read_while_others_go_on(restd: Restd) -> None:
    job = b'{"job_id": 7, "unknown": "' + b"x" * 10_000_000 + b'"},'

    async def stream(writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"jobs": [')
        for _ in range(10):
            writer.write(job)
            await writer.drain()
        writer.write(b'{"job_id": 8}]}')

    restd.on(f"GET /slurm/{V}/jobs/", stream)
    reply = await transport(restd).send(Call("GET", "jobs/", 60.0, reads=True), V, JobsAnswer)
    assert reply is not None
    assert isinstance(reply.items, tuple)
    assert [job.job_id for job in reply.items] == [7] * 10 + [8]


async def test_an_answer_beyond_the_limit_is_refused(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", http(200, b" " * 2000))
    with pytest.raises(GarbledError, match="longer than 1000 bytes"):
        await Transport(restd.url, StaticToken(""), max_body=1000).send(READ, V, NodesAnswer)


async def test_headers_and_queries_arrive_as_slurm_wants_them(restd: Restd) -> None:
    restd.on(f"GET {TARGET}?update_time=uts5", answer(nodes=[]))
    await transport(restd).send(Call("GET", "nodes/", 5, {"update_time": "uts5"}, reads=True), V, NodesAnswer)
    assert restd.seen[0].headers["X-SLURM-USER-TOKEN"] == SECRET

    nobody = Transport(restd.url, StaticToken(""))
    restd.on(f"GET {TARGET}", http(401, b"Authentication failure", "text/plain"))
    with pytest.raises(UnauthorisedError):
        await nobody.send(READ, V, NodesAnswer)
    assert "X-SLURM-USER-TOKEN" not in restd.seen[1].headers


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "reply",
    [
        CUT_OFF,
        http(401, b"no"),
        failure(511, 1007, f"bad token {SECRET}"),
        failure(200, 0, f"bad token {SECRET}"),
        http(500, f"<html>your request had X-SLURM-USER-TOKEN: {SECRET}".encode()),
        http(503, SECRET.encode()),
        http(302, SECRET.encode()),
        http(200, b"<html>"),
        b"garbage\r\n\r\n",
        hang,
    ],
)
async def test_no_error_shows_the_token(restd: Restd, reply: bytes) -> None:
    restd.on(f"GET {TARGET}", reply)
    with pytest.raises(SlurmError) as caught:
        await transport(restd).send(Call("GET", "nodes/", 0.5, reads=True), V, NodesAnswer)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(caught.value))
    assert SECRET not in shown
    assert caught.value.__cause__ is None


async def test_a_redirect_does_not_carry_the_token_elsewhere(restd: Restd) -> None:
    restd.on(f"GET {TARGET}", b"HTTP/1.1 302 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(RejectedError, match="302"):
        await transport(restd).send(READ, V, NodesAnswer)
    assert restd.calls == [f"GET {TARGET}"]


async def test_a_token_cannot_smuggle_a_header(restd: Restd) -> None:
    class Evil:
        async def token(self) -> str:
            return "a\r\nX-Other: b"

    with pytest.raises(TokenError):
        await Transport(restd.url, Evil()).send(READ, V, NodesAnswer)
    assert restd.seen == []

"""HTTP as slurmrestd really speaks it, and as it should never be spoken."""

import asyncio

import pytest

from slurmery.slurm.errors import GarbledError, SlurmError, UnreachableError
from slurmery.slurm.wire import Address, Reply, Request, exchange
from tests.unit.slurm.restd import Restd, http


async def get(restd: Restd, max_body: int = 1 << 20) -> Reply:
    return await exchange(Address(restd.url), Request("GET", "/x", {}), max_body)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(http(404, b"first") + http(404, b"second"), id="26.05 answers each failure twice"),
        pytest.param(http(404, b"first") + b"Connection: Close\r\n", id="a header after the body"),
        pytest.param(http(404, b"first") + b"Connection: Close\r\n" + http(404, b"x"), id="both"),
        pytest.param(b"HTTP/1.1 404 X\r\n\r\nfirst", id="until the connection ends"),
        pytest.param(
            b"HTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n3;a=b\r\nrst\r\n0\r\n\r\n",
            id="in chunks",
        ),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + http(404, b"first"), id="after 100 Continue"),
    ],
)
async def test_the_first_answer_counts(restd: Restd, sent: bytes) -> None:
    restd.on("GET /x", sent)
    assert await get(restd) == Reply(404, bytearray(b"first"))


async def test_not_modified_has_no_body_and_no_length(restd: Restd) -> None:
    restd.on("GET /x", b"HTTP/1.1 304 NOT MODIFIED\r\n\r\nConnection: Close\r\n")
    assert await get(restd) == Reply(304, bytearray())


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"", UnreachableError),
        (b"HTTP/1.1 200 OK\r\nContent-", UnreachableError),
        (http(200, b'{"nodes": []}')[:-5], UnreachableError),
        (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", UnreachableError),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", GarbledError),
        (b"HTTP/1.1 abc\r\n\r\n", GarbledError),
        (b"HTTP/1.1\r\n\r\n", GarbledError),
        (b"HTTP/1.1 200 X\r\nContent-Length: many\r\n\r\n", GarbledError),
        (b"HTTP/1.1 200 X\r\nContent-Length: -5\r\n\r\nabc", GarbledError),
        (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", GarbledError),
        (b"HTTP/1.1 200 X\r\n" + b"A: b\r\n" * 100_000, GarbledError),
        (b"HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n", GarbledError),
        (b"HTTP/1.1 200 X\r\n\r\n" + b"x" * (1 << 21), GarbledError),
    ],
)
async def test_half_answers_and_nonsense_are_errors_of_ours(
    restd: Restd, sent: bytes, error: type[SlurmError]
) -> None:
    restd.on("GET /x", sent)
    with pytest.raises(error):
        await get(restd)


async def test_too_long_an_answer_is_not_read_to_its_end(restd: Restd) -> None:
    written = 0

    async def forever(writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65536)
            written += 65536
            await writer.drain()

    restd.on("GET /x", forever)
    with pytest.raises(GarbledError, match="longer than 1000000 bytes"):
        await get(restd, max_body=1_000_000)
    assert written < 50_000_000


async def test_a_request_that_never_left_says_so() -> None:
    with pytest.raises(UnreachableError, match=r"cannot connect to slurmrestd at 127\.0\.0\.1:1") as caught:
        await exchange(Address("http://127.0.0.1:1"), Request("POST", "/x", {}), 100)
    assert not caught.value.sent


async def test_a_host_that_cannot_be_is_unreachable() -> None:
    with pytest.raises(UnreachableError):
        await exchange(Address(f"http://a..{'b' * 70}"), Request("GET", "/x", {}), 100)


def test_addresses() -> None:
    plain = Address("http://rest.slurm:6820/")
    assert (plain.host, plain.port, plain.netloc, plain.prefix) == ("rest.slurm", 6820, "rest.slurm:6820", "")
    secure = Address("https://[::1]/slurm-rest/")
    assert (secure.secure, secure.host, secure.port, secure.prefix) == (True, "::1", 443, "/slurm-rest")
    for url in ["", "rest:6820", "ftp://x", "http://", "http://x:port"]:
        with pytest.raises(ValueError):  # noqa: PT011 - urllib has words of its own
            Address(url)

import ssl
from http import HTTPStatus
from typing import cast

import aiohttp
import pytest
import trustme

from slurmery.kube.authorize import Authorizer
from slurmery.kube.errors import NoAnswerError
from slurmery.kube.health import Address, Probes, metrics_routes, serve

HERE = Address("127.0.0.1", 0)


async def get(url: str, **options: object) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, **options) as answer:  # type: ignore[arg-type]
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8080", Address(None, 8080)),
        ("127.0.0.1:8081", Address("127.0.0.1", 8081)),
        ("localhost:6060", Address("localhost", 6060)),
        ("[::1]:8080", Address("::1", 8080)),
        ("0", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_go_programs_write_them(text: str, address: Address | None) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("text", ["8080", "host", "host:", ":http", ":65536", ":-1"])
def test_an_address_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address like :8080"):
        Address.parse(text)


async def test_probes_answer_ok_or_say_what_is_wrong() -> None:
    complaint: str | None = None
    probes = Probes({"watches": lambda: complaint}, {"caches": lambda: "not filled yet"})
    async with serve(HERE, probes.routes()) as port:
        assert await get(f"http://127.0.0.1:{port}/healthz") == (200, "ok")
        assert await get(f"http://127.0.0.1:{port}/readyz") == (503, "caches: not filled yet\n")
        complaint = "no sign of life from pods"
        assert await get(f"http://127.0.0.1:{port}/healthz") == (503, "watches: no sign of life from pods\n")
        assert (await get(f"http://127.0.0.1:{port}/metrics"))[0] == 404


async def test_metrics_are_served_over_tls() -> None:
    authority = trustme.CA()
    server, caller = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(caller)
    async with serve(HERE, metrics_routes(), tls=server) as port:
        status, text = await get(f"https://127.0.0.1:{port}/metrics", ssl=caller)
    assert status == 200
    assert "process_cpu_seconds_total" in text


async def test_guarded_metrics_are_for_those_who_may_and_closed_while_nobody_can_say() -> None:
    class Judge:
        verdict_: HTTPStatus | None = None

        async def verdict(self, authorization: str, path: str) -> HTTPStatus:
            assert (authorization, path) == ("Bearer t0ken", "/metrics")
            if self.verdict_ is None:
                raise NoAnswerError("down")
            return self.verdict_

    judge = Judge()
    headers = {"Authorization": "Bearer t0ken"}
    async with serve(HERE, metrics_routes(cast("Authorizer", judge))) as port:
        url = f"http://127.0.0.1:{port}/metrics"
        assert (await get(url, headers=headers))[0] == 503
        for verdict in (HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED, HTTPStatus.OK):
            judge.verdict_ = verdict
            assert (await get(url, headers=headers))[0] == verdict

"""Kubelets that answer, refuse, or hang."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from aiohttp import web

from slurmery.health.hosts import Host
from slurmery.health.storage.kubelet import KubeletError, Kubelets, Ways
from slurmery.kube.config import Config

SUMMARY = {"pods": [{"podRef": {"uid": "u-1"}, "ephemeral-storage": {"usedBytes": 7}}]}


def host(port: int = 0, **addresses: str) -> Host:
    given: dict[str, Any] = {
        "metadata": {"name": "node-0", "resourceVersion": "1"},
        "status": {"addresses": [{"type": kind, "address": each} for kind, each in addresses.items()]},
    }
    if port:
        given["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": port}}
    return msgspec.convert(given, Host)


class Kubelet:
    def __init__(self) -> None:
        self.status = 200
        self.seconds = 0.0
        self.ways = Ways()

    async def summary(self, _: web.Request) -> web.Response:
        await asyncio.sleep(self.seconds)
        return web.Response(status=self.status, text=json.dumps(SUMMARY))


@pytest.fixture
async def kubelet(tmp_path: Path) -> AsyncIterator[Kubelet]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    kubelet, application = Kubelet(), web.Application()
    application.router.add_get("/stats/summary", kubelet.summary)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    kubelet.ways = Ways(port=runner.addresses[0][1], seconds=0.5, authority=tmp_path / "ca.pem")
    yield kubelet
    await runner.cleanup()


async def asked(kubelet: Kubelet, uid: str = "u-1") -> int | None:
    async with Kubelets(Config("https://127.0.0.1:1"), kubelet.ways) as kubelets:
        return await kubelets.used(host(InternalIP="127.0.0.1"), uid)


async def test_it_tells_what_a_pod_uses_if_it_knows_it(kubelet: Kubelet) -> None:
    assert await asked(kubelet) == 7
    assert await asked(kubelet, "another") is None


async def test_a_refusal_is_told_with_its_code_and_its_node(kubelet: Kubelet) -> None:
    kubelet.status = 403
    with pytest.raises(KubeletError, match=r"kubelet of node-0: 403"):
        await asked(kubelet)


async def test_one_that_hangs_is_not_waited_for(kubelet: Kubelet) -> None:
    kubelet.seconds = 5
    with pytest.raises(KubeletError, match=r"kubelet of node-0: (no answer within 0.5 s|.*[Tt]imeout)"):
        await asked(kubelet)


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ({"Hostname": "h", "InternalIP": "10.0.0.1", "ExternalIP": "1.2.3.4"}, "10.0.0.1"),
        ({"Hostname": "h", "ExternalIP": "1.2.3.4"}, "h"),
        ({}, "node-0"),
    ],
)
def test_it_is_looked_for_inside_the_cluster(addresses: dict[str, str], expected: str) -> None:
    assert host(0, **addresses).address == expected


def test_the_port_is_its_own_or_the_usual_one() -> None:
    assert host(10251).kubelet_port == 10251
    assert (host().kubelet_port, Ways().port) == (0, 10250)

"""What kubelets say of their pods: `/stats/summary`, asked directly and as who we are in the cluster.

KubeletError is all that a question raises.
"""

import asyncio
import ssl
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import aiohttp
import msgspec
from prometheus_client import Counter, Histogram

from slurmery.health.hosts import Host
from slurmery.kube.config import Config
from slurmery.kube.credentials import ClientCertificate
from slurmery.kube.errors import ConfigError, KubeError

REQUESTS: Final = Counter(
    "soperator_kubelet_stats_requests_total", "Questions to kubelets by outcome.", ("outcome",)
)
SECONDS: Final = Histogram("soperator_kubelet_stats_request_duration_seconds", "Seconds that they took.")


class KubeletError(KubeError):
    """The kubelet gave no usable answer."""


@dataclass(frozen=True)
class Ways:
    """How kubelets are reached.

    Certificates must come from the `authority` or, unless `unchecked`, from the cluster's own.
    """

    port: int = 10250
    seconds: float = 10.0
    connections: int = 1024
    unchecked: bool = False
    authority: Path | None = None
    server_name: str = ""


class _Storage(msgspec.Struct, rename="camel"):
    used_bytes: int = 0


class _Reference(msgspec.Struct):
    uid: str = ""


class _Pod(msgspec.Struct, rename={"reference": "podRef", "storage": "ephemeral-storage"}):
    reference: _Reference
    storage: _Storage | None = None


class _Summary(msgspec.Struct):
    pods: list[_Pod] = []


class Kubelets(AbstractAsyncContextManager["Kubelets"]):
    """All kubelets of a cluster. Use as an async context manager."""

    def __init__(self, cluster: Config, ways: Ways) -> None:
        self._cluster = _trusted(cluster, ways)
        self._ways = ways
        self._tls: tuple[ClientCertificate | None, ssl.SSLContext] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Kubelets":
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._ways.connections),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._ways.seconds),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session:
            await self._session.close()

    async def used(self, host: Host, uid: str) -> int | None:
        """The bytes of ephemeral storage that a pod uses; None if the kubelet does not know yet."""
        begin, outcome = asyncio.get_running_loop().time(), "error"
        try:
            body = await self._ask(
                f"https://{_bracketed(host.address)}:{host.kubelet_port or self._ways.port}"
            )
            pods = msgspec.json.decode(body, type=_Summary).pods
            outcome = "success"
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError) as error:
            words = str(error) or f"no answer within {self._ways.seconds:g} s"
            raise KubeletError(f"the kubelet of {host.metadata.name}: {words}") from error
        finally:
            REQUESTS.labels(outcome).inc()
            SECONDS.observe(asyncio.get_running_loop().time() - begin)
        return next(
            (pod.storage.used_bytes for pod in pods if pod.reference.uid == uid and pod.storage), None
        )

    async def _ask(self, url: str) -> bytes:
        if self._session is None:
            raise RuntimeError("the kubelets are asked outside their `async with`")
        credential = await self._cluster.credentials.get()
        headers = {"Authorization": credential.authorization} if credential.authorization else {}
        async with self._session.get(
            f"{url}/stats/summary",
            headers=headers,
            ssl=self._context(credential.certificate),
            server_hostname=self._ways.server_name or None,
            allow_redirects=False,
            raise_for_status=True,
        ) as answer:
            return await answer.read()

    def _context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        if self._tls is None or self._tls[0] != certificate:
            self._tls = certificate, self._cluster.tls(certificate)
        return self._tls[1]


def _trusted(cluster: Config, ways: Ways) -> Config:
    if ways.authority is None:
        return replace(cluster, insecure=ways.unchecked)
    try:
        return replace(cluster, insecure=False, authority=ways.authority.read_text())
    except OSError as error:
        raise ConfigError(f"--kubelet-ca-file {ways.authority}: {error}") from None


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address

"""Where the cluster is found, and whom TLS trusts. Real TLS servers, real client certificates."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from slurmery.kube import config
from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.credentials import ClientCertificate, Credential
from slurmery.kube.errors import ConfigError, NoAnswerError


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


def pem(*blobs: trustme.Blob) -> str:
    return "".join(blob.bytes().decode() for blob in blobs)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@asynccontextmanager
async def tls_server(authority: trustme.CA) -> AsyncIterator[str]:
    """Answers with what it learnt of its client: common name and Authorization."""

    async def whoami(request: web.Request) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        name = next((pair[0][1] for pair in peer.get("subject", ()) if pair[0][0] == "commonName"), "nobody")
        groups = request.headers.getall("Impersonate-Group", [])
        words = [
            name,
            request.headers.get("Authorization", "-"),
            request.headers.get("Impersonate-User", "-"),
        ]
        return web.Response(text=" ".join([*words, *groups]))

    trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trust.verify_mode = ssl.CERT_OPTIONAL
    authority.configure_trust(trust)
    authority.issue_cert("kube.example.com").configure_cert(trust)
    application = web.Application()
    application.router.add_get("/prefix/whoami", whoami)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=trust).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    finally:
        await runner.cleanup()


async def whoami(found: Config) -> str:
    async with Client(found, deadline=2) as client:
        return (await client.request("GET", "/whoami")).decode()


def kubeconfig(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    path = folder / "config"
    content = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "slurm"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("inline", [True, False])
async def test_client_certificates_as_data_and_as_files(
    authority: trustme.CA, tmp_path: Path, inline: bool
) -> None:
    alice = authority.issue_cert(common_name="alice")
    texts = {
        "certificate-authority": pem(authority.cert_pem),
        "client-certificate": pem(*alice.cert_chain_pems),
        "client-key": pem(alice.private_key_pem),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    given = (
        {f"{n}-data": base64.encodebytes(t.encode()).decode() for n, t in texts.items()}
        if inline
        else {name: name for name in texts}
    )
    async with tls_server(authority) as server:
        cluster = {"server": server, "tls-server-name": "kube.example.com"}
        cluster |= {name: value for name, value in given.items() if "authority" in name}
        user = {name: value for name, value in given.items() if "client" in name}
        found = config.load(kubeconfig(tmp_path, cluster, user))
        assert found.namespace == "slurm"
        assert await whoami(found) == "alice - -"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({}, "nobody - -"),
        ({"token": "t"}, "nobody Bearer t -"),
        ({"username": "bob", "password": "p"}, f"nobody Basic {encoded('bob:p')} -"),
        ({"token": "t", "as": "carol", "as-groups": ["g", "h"]}, "nobody Bearer t carol g h"),
        ({"tokenFile": "token"}, "nobody Bearer from-file -"),
    ],
)
async def test_other_identities(
    authority: trustme.CA, tmp_path: Path, user: dict[str, Any], expected: str
) -> None:
    (tmp_path / "token").write_text("from-file\n")
    async with tls_server(authority) as server:
        found = config.load(kubeconfig(tmp_path, {"server": server, "insecure-skip-tls-verify": True}, user))
        assert await whoami(found) == expected


async def test_exec_plugins_are_run(authority: trustme.CA, tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1"
    plugin = tmp_path / "login"
    plugin.write_text(
        "#!/bin/sh\n"
        'case "$KUBERNETES_EXEC_INFO" in *certificate-authority-data*) token=known;; esac\n'
        f'echo "{{\\"apiVersion\\": \\"{version}\\", \\"kind\\": \\"ExecCredential\\",'
        '\\"status\\": {\\"token\\": \\"$token\\"}}"\n'
    )
    plugin.chmod(0o755)
    stanza = {
        "apiVersion": version,
        "command": "./login",
        "args": None,
        "env": None,
        "provideClusterInfo": True,
    }
    async with tls_server(authority) as server:
        cluster = {"server": server, "tls-server-name": "kube.example.com"}
        cluster["certificate-authority-data"] = encoded(pem(authority.cert_pem))
        assert (
            await whoami(config.load(kubeconfig(tmp_path, cluster, {"exec": stanza})))
            == "nobody Bearer known -"
        )


async def test_a_server_of_another_authority_is_not_trusted(authority: trustme.CA) -> None:
    async with tls_server(authority) as server:
        stranger = Config(server.rstrip("/"), authority=pem(trustme.CA().cert_pem))
        with pytest.raises(NoAnswerError, match="certificate verify failed"):
            await whoami(stranger)
        misnamed = Config(server.rstrip("/"), authority=pem(authority.cert_pem))
        with pytest.raises(NoAnswerError, match="IP address mismatch"):
            await whoami(misnamed)


async def test_a_pod_is_its_service_account(authority: trustme.CA, tmp_path: Path) -> None:
    for name, text in {
        "ca.crt": pem(authority.cert_pem),
        "token": "pod-token",
        "namespace": "slurm\n",
    }.items():
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = config.in_cluster(environ, tmp_path)
    assert (found.server, found.namespace) == ("https://[fd00::1]:6443", "slurm")
    assert await found.credentials.get() == Credential("Bearer pod-token")
    # Slurm gives the programs that it starts hardly any environment.
    assert config.in_cluster({}, tmp_path).server == "https://kubernetes.default.svc:443"
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(ConfigError, match=r"ca\.crt"):
        config.in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


def test_the_cluster_is_looked_for_where_kubectl_looks(tmp_path: Path) -> None:
    def put(name: str) -> Path:
        folder = tmp_path / name / ".kube"
        folder.mkdir(parents=True)
        return kubeconfig(folder, {"server": f"https://{name}"}, {})

    flag, variable, _ = put("flag"), put("variable"), put("home")
    environ = {"HOME": str(tmp_path / "home")}
    assert config.load(environ=environ).server == "https://home"
    environ["KUBECONFIG"] = f"{variable}:"
    assert config.load(environ=environ).server == "https://variable"
    assert config.load(flag, environ=environ).server == "https://flag"


def test_nothing_found_and_nowhere_pointed_are_told_apart(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    with pytest.raises(ConfigError, match="KUBECONFIG is not set"):
        config.load(environ=environ)
    with pytest.raises(ConfigError, match="/nowhere does not exist: point KUBECONFIG"):
        config.load(environ=environ | {"KUBECONFIG": "/nowhere"})


@pytest.mark.parametrize(
    ("cluster", "user", "words"),
    [
        ({"proxy-url": "socks5://p"}, {}, "socks5://p is neither"),
        ({"certificate-authority": "missing.crt"}, {}, r"missing\.crt"),
        ({}, {"client-certificate-data": encoded("C")}, "but not both"),
        ({"certificate-authority-data": "Q"}, {}, "not base64"),
        ({}, {"auth-provider": {"name": "gcp"}}, "use an exec plugin"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        config.load(kubeconfig(tmp_path, {"server": "https://k"} | cluster, user))


@pytest.mark.parametrize("found", [Config("https://k", authority="no PEM"), Config("https://k")])
def test_certificates_that_are_none_are_refused(found: Config) -> None:
    with pytest.raises(ConfigError, match="certificates for https://k cannot be used"):
        found.tls(ClientCertificate("no", "PEM"))


async def test_a_proxy_is_used_where_the_kubeconfig_names_one(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"server": "k.example.com", "proxy-url": "http://p:3128"}, {})
    found = config.load(path, environ={"HTTPS_PROXY": "http://other:1"})
    assert (found.server, found.proxy) == ("https://k.example.com", "http://p:3128")
    path = kubeconfig(tmp_path, {"server": "k.example.com"}, {})
    assert config.load(path, environ={"HTTPS_PROXY": "http://other:1"}).proxy == "http://other:1"


@asynccontextmanager
async def connect_proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that knows CONNECT only, and the targets it was asked for."""
    asked: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, target, _ = (await reader.readuntil(b"\r\n\r\n")).decode().split(maxsplit=2)
        asked.append(target)
        far_reader, far_writer = await asyncio.open_connection(*target.rsplit(":", 1))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        tasks.add(asyncio.create_task(pump(reader, far_writer)))
        tasks.add(asyncio.create_task(pump(far_reader, writer)))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", asked
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_proxy_carries_the_encrypted_stream(authority: trustme.CA) -> None:
    async with tls_server(authority) as server, connect_proxy() as (proxy, asked):
        found = Config(
            server.rstrip("/"),
            authority=pem(authority.cert_pem),
            tls_server_name="kube.example.com",
            proxy=proxy,
        )
        assert await whoami(found) == "nobody - -"
        assert asked == [server.removeprefix("https://").split("/")[0]]

"""Certificates change under a server that keeps serving."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme

from slurmery.admission.identity import Identity, IdentityError


@pytest.fixture
async def server() -> AsyncIterator[tuple[Identity, int]]:
    """A server that greets whoever gets through the handshake."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await writer.drain()
        writer.close()

    identity = Identity()
    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=identity.context)
    async with server:
        yield identity, server.sockets[0].getsockname()[1]


async def shown(port: int, ca: trustme.CA, host: str | None = "127.0.0.1") -> bytes:
    """The certificate that a client sees; without a host it names none, as API servers do for addresses."""
    context = ssl.create_default_context()
    ca.configure_trust(context)
    context.check_hostname = host is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host or "")
    assert await reader.read() == b"hello"
    certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return certificate


def use(identity: Identity, ca: trustme.CA, key_type: trustme.KeyType = trustme.KeyType.ECDSA) -> None:
    leaf = ca.issue_cert("127.0.0.1", key_type=key_type)
    identity.use(b"".join(pem.bytes() for pem in leaf.cert_chain_pems), leaf.private_key_pem.bytes())


async def test_without_a_certificate_nobody_gets_through(server: tuple[Identity, int]) -> None:
    identity, port = server
    assert not identity.known
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await shown(port, trustme.CA())


@pytest.mark.parametrize("host", ["127.0.0.1", None])
async def test_new_connections_see_the_new_certificate(
    server: tuple[Identity, int], host: str | None
) -> None:
    identity, port = server
    ca = trustme.CA()
    use(identity, ca)
    first = await shown(port, ca, host)
    # Of another algorithm: a context would keep both.
    use(identity, ca, trustme.KeyType.RSA)
    second = await shown(port, ca, host)
    assert first != second
    assert second == await shown(port, ca, host)


async def test_a_pair_that_does_not_fit_leaves_the_former_in_use(server: tuple[Identity, int]) -> None:
    identity, port = server
    ca = trustme.CA()
    use(identity, ca)
    one, other = ca.issue_cert("a"), ca.issue_cert("b")
    with pytest.raises(IdentityError):
        identity.use(one.cert_chain_pems[0].bytes(), other.private_key_pem.bytes())
    with pytest.raises(IdentityError):
        identity.use(b"", b"")
    assert await shown(port, ca)

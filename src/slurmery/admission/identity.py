"""The certificate that the server shows, which can be changed while it serves."""

import asyncio
import os
import ssl
from pathlib import Path

from slurmery.admission.review import AdmissionError
from slurmery.kube.logs import logger

log = logger("admission")

CERTIFICATE, KEY = "tls.crt", "tls.key"
LOOK_SECONDS = 5.0


class IdentityError(AdmissionError):
    """The certificate and the key cannot be used; the message says why, and shows neither."""


class Identity:
    """A TLS context whose certificate is chosen anew for every connection."""

    def __init__(self) -> None:
        self._current: ssl.SSLContext | None = None
        self.context = _context()
        self.context.sni_callback = self._choose

    @property
    def known(self) -> bool:
        """Whether there is a certificate to show."""
        return self._current is not None

    def use(self, certificates: bytes, key: bytes) -> None:
        """Show this chain from now on; connections that are open stay as they are."""
        context = _context()
        # OpenSSL reads files only. This one is in memory and ours alone.
        file = os.memfd_create("identity")
        try:
            os.write(file, certificates + b"\n" + key)
            context.load_cert_chain(f"/proc/self/fd/{file}")
        except ssl.SSLError as error:
            raise IdentityError(f"the serving certificate cannot be used: {error}") from error
        finally:
            os.close(file)
        self._current = context

    # Called for every handshake, also for clients that name no server.
    def _choose(self, connection: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


async def follow(folder: Path, identity: Identity) -> None:
    """Show the certificate in a folder, such as a mounted Secret of cert-manager's, as it is at any time."""
    shown, complaint = None, ""
    while True:
        try:
            found = await asyncio.to_thread(_read, folder)
            if found != shown:
                identity.use(*found)
                shown = found
                log.info("Serving certificate read", folder=str(folder))
            complaint = ""
        except (OSError, IdentityError) as error:
            # The pair may be half written. What was shown before stays good meanwhile.
            if str(error) != complaint:
                complaint = str(error)
                log.warning("Serving certificate not read", folder=str(folder), error=complaint)
        await asyncio.sleep(LOOK_SECONDS)


def _read(folder: Path) -> tuple[bytes, bytes]:
    return (folder / CERTIFICATE).read_bytes(), (folder / KEY).read_bytes()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context

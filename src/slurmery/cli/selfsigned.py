"""A certificate that nobody vouches for, for metrics that must not travel in the clear."""

import ssl
from datetime import UTC, datetime, timedelta

from slurmery.admission import authority
from slurmery.admission.authority import Lives
from slurmery.admission.identity import Identity

# No process lives longer.
_LIFE = timedelta(days=3650)


def server_tls(host: str) -> ssl.SSLContext:
    """TLS for a server of this name, with a key that lives as long as the process."""
    now, lives = datetime.now(UTC), Lives(authority=_LIFE, leaf=_LIFE)
    [signer] = authority.renewed((), now, lives)
    pair = authority.leaf(signer, [host], now, lives)
    identity = Identity()
    identity.use(pair.certificate_pem, pair.key_pem)
    return identity.context

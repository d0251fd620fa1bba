"""Our own certificate authority: made, renewed and read. Pure but for the keys it draws.

    authority 1  ├──────────────── 2/3 ─────────────┤ expires
    authority 2                    ├─ settle ─┼──────────────── 2/3 ...
    trusted      1                 1 and 2                  2
    signs        1                            2

A new authority is trusted some time before it signs, so that every API server knows it by then, and the old
one is trusted until it expires, so that whatever it signed stays good. Which of them signs follows from the
time alone: replicas that read the same Secret agree without a word.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CERTIFICATES, KEYS = "ca.crt", "ca.key"
# Clocks differ; a certificate must be good for a reader whose clock is late.
BACKDATED = timedelta(minutes=5)
_END = b"-----END PRIVATE KEY-----\n"


@dataclass(frozen=True)
class Lives:
    """How long authorities and leaves are good, and how long an authority is trusted before it signs."""

    authority: timedelta = timedelta(days=5 * 365)
    leaf: timedelta = timedelta(days=90)
    settle: timedelta = timedelta(hours=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    # Not compared: a key that was read again does not equal itself.
    key: ec.EllipticCurvePrivateKey = field(compare=False, repr=False)

    @property
    def issued(self) -> datetime:
        return self.certificate.not_valid_before_utc + BACKDATED

    @property
    def expires(self) -> datetime:
        return self.certificate.not_valid_after_utc

    @property
    def due(self) -> datetime:
        """When a successor is to be made."""
        return self.issued + (self.expires - self.issued) * 2 / 3

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def renewed(authorities: Sequence[Pair], now: datetime, lives: Lives) -> tuple[Pair, ...]:
    """What should be in the Secret, oldest first: the same, unless one has expired or is due."""
    good = tuple(authority for authority in authorities if now < authority.expires)
    return good if good and now < good[-1].due else (*good, _authority(now, lives.authority))


def signer(authorities: Sequence[Pair], now: datetime, lives: Lives) -> Pair:
    """The newest that is settled, or the oldest while none is."""
    settled = [authority for authority in authorities if authority.issued + lives.settle <= now]
    return settled[-1] if settled else authorities[0]


def leaf(authority: Pair, hosts: Sequence[str], now: datetime, lives: Lives) -> Pair:
    """A server certificate for these host names and addresses; it never outlives its authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    until = min(now + lives.leaf, authority.expires)
    certificate = (
        _builder("slurmery-webhook", authority.certificate.subject, key, now, until)
        .add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False
        )
        .sign(authority.key, hashes.SHA256())
    )
    return Pair(certificate, key)


def bundle(authorities: Sequence[Pair]) -> bytes:
    """The certificates of all, as `caBundle` wants them."""
    return b"".join(authority.certificate_pem for authority in authorities)


def pack(authorities: Sequence[Pair]) -> dict[str, bytes]:
    """The data of the Secret."""
    return {
        CERTIFICATES: bundle(authorities),
        KEYS: b"".join(authority.key_pem for authority in authorities),
    }


def unpack(data: Mapping[str, bytes]) -> tuple[Pair, ...]:
    """The authorities in a Secret; none if it is empty or spoilt: all that it holds can be made anew."""
    try:
        certificates = x509.load_pem_x509_certificates(data[CERTIFICATES])
        keys = [
            serialization.load_pem_private_key(part + _END, None) for part in data[KEYS].split(_END) if part
        ]
        return tuple(_checked(*pair) for pair in zip_longest(certificates, keys))
    except (KeyError, ValueError, TypeError):
        return ()


def _checked(certificate: x509.Certificate | None, key: object) -> Pair:
    if certificate is None or not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("a certificate or a key is missing")
    if certificate.public_key() != key.public_key():
        raise ValueError("a key does not belong to its certificate")
    return Pair(certificate, key)


def _authority(now: datetime, life: timedelta) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder("slurmery-webhook-ca", _name("slurmery-webhook-ca"), key, now, now + life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key)


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, since: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since - BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)

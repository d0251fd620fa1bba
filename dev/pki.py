"""Certificates of a private cluster: one CA, and a certificate for each identity that it signs."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dev import files

LIFE = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


class Authority:
    """A CA kept in a folder. Pairs already there are kept, so that a restart changes no identity."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pair = Pair(folder / "ca.crt", folder / "ca.key")
        if not self.pair.certificate.exists():
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
            builder = (
                _builder(_name("slurmery-dev-ca"), _name("slurmery-dev-ca"), key)
                .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                .add_extension(usage, critical=True)
            )
            _keep(self.pair, builder.sign(key, hashes.SHA256()), key)

    def issue(self, file: str, name: str, group: str = "", hosts: tuple[str, ...] = ()) -> Pair:
        """A pair for the user `name` of `group`, also good as a server certificate of `hosts`."""
        pair = Pair(self.folder / f"{file}.crt", self.folder / f"{file}.key")
        if pair.certificate.exists():
            return pair
        ca = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
        ca_key = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
        assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = _builder(_name(name, group), ca.subject, key).add_extension(
            x509.ExtendedKeyUsage(usages), critical=False
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_general_name(h) for h in hosts]), critical=False
            )
        _keep(pair, builder.sign(ca_key, hashes.SHA256()), key)
        return pair


def service_account_key(folder: Path) -> Path:
    """The key that signs service account tokens."""
    path = folder / "service-accounts.key"
    if not path.exists():
        files.write(path, _pem(ec.generate_private_key(ec.SECP256R1())), 0o600)
    return path


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFE)
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # kube-apiserver reads the public half of an EC key only from this form.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _keep(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    # The certificate is written last: where it exists, the pair is whole.
    files.write(pair.key, _pem(key), 0o600)
    files.write(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))

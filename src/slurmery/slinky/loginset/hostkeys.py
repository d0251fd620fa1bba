"""SSH host keys: made once for a LoginSet, so that users are asked to trust it once.

Not pure: the keys are random. An RSA key takes a second of a core, so this is called in a thread, and only
while the Secret does not exist.
"""

from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

ALGORITHMS: Final = ("rsa", "ed25519", "ecdsa")
_PrivateKey = rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def private(algorithm: str) -> str:
    """The name of a private key's file."""
    return f"ssh_host_{algorithm}_key"


def public(algorithm: str) -> str:
    """The name of a public key's file."""
    return f"{private(algorithm)}.pub"


def generate(rsa_bits: int = 4096) -> dict[str, bytes]:
    """New keys of every algorithm, by file name."""
    made: Mapping[str, _PrivateKey] = {
        "rsa": rsa.generate_private_key(public_exponent=65537, key_size=rsa_bits),
        "ed25519": ed25519.Ed25519PrivateKey.generate(),
        "ecdsa": ec.generate_private_key(ec.SECP256R1()),
    }
    files: dict[str, bytes] = {}
    for algorithm, key in made.items():
        files[private(algorithm)] = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        files[public(algorithm)] = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return files

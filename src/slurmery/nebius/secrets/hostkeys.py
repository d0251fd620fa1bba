"""SSH host keys in the formats of the contract, made once for a cluster.

Not pure: the keys are random. An RSA key takes a moment of a core, so this is called in a thread, and only
while the Secret does not exist.
"""

from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from slurmery.nebius import names

_PrivateKey = rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def generate() -> dict[str, bytes]:
    """New keys of every algorithm, by file name."""
    made: Mapping[str, tuple[_PrivateKey, PrivateFormat]] = {
        "rsa": (
            rsa.generate_private_key(public_exponent=65537, key_size=2048),
            PrivateFormat.TraditionalOpenSSL,
        ),
        "ecdsa": (ec.generate_private_key(ec.SECP521R1()), PrivateFormat.TraditionalOpenSSL),
        "ed25519": (ed25519.Ed25519PrivateKey.generate(), PrivateFormat.OpenSSH),
    }
    files: dict[str, bytes] = {}
    for algorithm, (key, form) in made.items():
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        files[names.host_key(algorithm)] = key.private_bytes(Encoding.PEM, form, NoEncryption())
        files[names.host_key_public(algorithm)] = public + b"\n"
    return files

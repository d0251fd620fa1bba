"""Hashes of what pods read only when they start: a new hash in the pod template means new pods."""

import hashlib
from collections.abc import Mapping


def of_value(value: str | bytes) -> str:
    """The hash of one value, for example of a key in a Secret."""
    return hashlib.sha256(_bytes(value)).hexdigest()


def of_map(values: Mapping[str, str] | Mapping[str, bytes]) -> str:
    """The hash of a ConfigMap's or Secret's data: of its values in the order of their keys; "" of none."""
    if not values:
        return ""
    return hashlib.sha256(b"".join(_bytes(values[key]) for key in sorted(values))).hexdigest()


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()

"""Answers recorded from real slurmrestd; tests/data/slurmrest/README.md says of what."""

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parents[2] / "data" / "slurmrest"

RELEASES: Final = [
    ("24.11", "v0.0.40"),
    ("24.11", "v0.0.41"),
    ("24.11", "v0.0.42"),
    ("26.05", "v0.0.42"),
    ("26.05", "v0.0.43"),
    ("26.05", "v0.0.44"),
    ("26.05", "v0.0.45"),
]


def recording(release: str, version: str, what: str) -> bytes:
    return (_FOLDER / f"{release}-{version}-{what}.json").read_bytes()

"""`slurmery version`."""

import platform

from slurmery import __version__


def version() -> None:
    """Print the version."""
    print(f"slurmery {__version__} (Python {platform.python_version()})")

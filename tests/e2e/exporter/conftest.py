"""A whole Slurm of each release, and a real Prometheus from Debian's package, unpacked and not installed."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import images, paths
from tests.e2e.slurm.lab import Lab


@pytest.fixture(scope="session", params=sorted(images.RELEASES))
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    this = Lab(request.param, tmp_path_factory.mktemp("slurm"))
    try:
        this.start()
        yield this
    finally:
        this.stop()


@pytest.fixture(scope="session")
def prometheus_programs() -> Path:
    """The folder with prometheus and promtool."""
    home = paths.cache() / "prometheus"
    programs = home / "usr/bin"
    if not (programs / "promtool").exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        # Unpacked beside and renamed, so that half of it is never taken for all of it.
        with tempfile.TemporaryDirectory(dir=home.parent) as folder:
            subprocess.run(
                ["apt-get", "download", "--quiet", "prometheus"], cwd=folder, check=True, timeout=300
            )
            [package] = Path(folder).glob("prometheus_*.deb")
            subprocess.run(["dpkg", "-x", package, f"{folder}/all"], check=True, timeout=120)
            os.rename(f"{folder}/all", home)  # noqa: PTH104 - one of the two is text
    return programs

"""slurmrestd."""

from typing import Any

import pytest

from slurmery.nebius.errors import SpecError
from slurmery.nebius.rest import build
from tests.unit.nebius.clusters import check, cluster


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_objects(version: str) -> None:
    found = cluster(version)
    check(f"rest-{version}", [build.service(found), build.deployment(found, {"slurm-configs": "a"})])


@pytest.mark.parametrize("container", [None, {"image": ""}])
def test_an_image_is_needed(container: Any) -> None:
    with pytest.raises(SpecError, match=r"slurmNodes.rest.rest.image is missing"):
        build.deployment(cluster(slurmNodes__rest__rest=container), {})


def test_it_runs_without_accounting() -> None:
    assert (
        build.deployment(cluster(slurmNodes__accounting__enabled=False), {}).manifest["spec"]["replicas"] == 2
    )


def test_the_shared_root_cannot_be_written() -> None:
    container = build.deployment(cluster(), {}).manifest["spec"]["template"]["spec"]["containers"][0]
    assert all(mount["readOnly"] for mount in container["volumeMounts"])

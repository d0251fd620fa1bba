"""The cluster's domain is read where the kubelet writes it."""

from pathlib import Path

import pytest

from slurmery.slinky import domain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("search slurm.svc.foo.local svc.foo.local foo.local\nnameserver 10.0.0.10\n", "foo.local"),
        ("nameserver 10.0.0.10\nsearch svc.cluster.local.\n", "cluster.local"),
        ("", ""),
        ("search\nsearchsvc.foo", ""),
        ("search example.org\n", ""),
    ],
)
def test_the_domain_is_that_of_services(text: str, found: str) -> None:
    assert domain.of(text) == found


def test_outside_of_pods_it_is_not_known(tmp_path: Path) -> None:
    assert domain.found(tmp_path / "resolv.conf") == ""

"""Every object of an Accounting, as reviewed files under tests/golden."""

from typing import Any

import pytest

from slurmery.slinky.accounting.decide import decide
from slurmery.slinky.accounting.observed import Observed
from tests.unit.slinky import golden
from tests.unit.slinky.clusters import accounting, accounting_world

CASES: dict[str, tuple[dict[str, Any], Observed]] = {
    "minimal": ({}, accounting_world()),
    "full": (
        {
            "metadata": {"labels": {"team": "hpc"}, "annotations": {"owner": "ops"}},
            "jwksKeyRef": {"name": "jwks", "key": "keys"},
            "slurmdbd": {"image": "slurmdbd:26.05", "resources": {"requests": {"cpu": "1"}}},
            "template": {
                "metadata": {"labels": {"tier": "control"}},
                "spec": {"nodeSelector": {"kubernetes.io/os": "linux"}},
            },
            "storageConfig": {
                "host": "db.example.org",
                "port": 3307,
                "database": "acct",
                "username": "dbd",
                "passwordKeyRef": {"name": "mariadb-password", "key": "password"},
            },
            "extraConf": "AuthInfo=cred_expire=120\nPurgeJobAfter=12months",
            "service": {"spec": {"externalIPs": ["192.0.2.1"]}, "port": 7819, "nodePort": 32500},
        },
        accounting_world(jwks_hash="w1", password="p#ss wörd\n"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_manifests_are_the_reviewed_ones(case: str) -> None:
    spec, observed = CASES[case]
    plan = decide(accounting(**spec), observed)
    golden.check(f"accounting-{case}", (desired.manifest for desired in plan.desired))

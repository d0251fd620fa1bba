"""Every object of a Controller, as reviewed files under tests/golden."""

from typing import Any

import pytest

from slurmery.slinky.controller.decide import decide
from slurmery.slinky.controller.observed import Observed
from tests.unit.slinky import golden
from tests.unit.slinky.clusters import accounting, controller, nodeset, world

SCRIPTS = {
    "prolog-scripts": {"prolog-00.sh": "#!/bin/sh\n", "prolog-90.sh": "#!/bin/sh\n"},
    "epilog-scripts": {"epilog.sh": "#!/bin/sh\n"},
    "ctld-scripts": {"notify.sh": "#!/bin/sh\n"},
    "config-extra": {"gres.conf": "AutoDetect=nvidia\n", "cgroup.conf": "CgroupPlugin=disabled\n"},
    "jwks": {"keys": "{}", "other": "x"},
}

CASES: dict[str, tuple[dict[str, Any], Observed]] = {
    "minimal": ({}, world()),
    "full": (
        {
            "metadata": {
                "labels": {"team": "hpc"},
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "owner": "ops",
                },
            },
            "clusterName": "blue",
            "accountingRef": {"name": "slurm"},
            "jwksKeyRef": {"name": "jwks", "key": "keys"},
            "inplaceReconfigure": True,
            "reconfigure": {"resources": {"limits": {"memory": "64Mi"}}},
            "logfile": {"image": "alpine:3"},
            "slurmctld": {
                "image": "slurmctld:26.05",
                "args": ["-v"],
                "env": [{"name": "TZ", "value": "UTC"}],
                "livenessProbe": {"exec": {"command": ["true"]}},
                "resources": {"requests": {"cpu": "1"}},
            },
            "template": {
                "metadata": {"labels": {"tier": "control"}, "annotations": {"note": "x"}},
                "spec": {
                    "affinity": {},
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "priorityClassName": "",
                    "serviceAccountName": "slurmctld",
                    "tolerations": [{"key": "control", "operator": "Exists"}],
                },
            },
            "extraConf": "SlurmctldParameters=idle_on_node_suspend\nMinJobAge=2\n",
            "configFileRefs": [{"name": "config-extra"}],
            "prologScriptRefs": [{"name": "prolog-scripts"}],
            "epilogScriptRefs": [{"name": "epilog-scripts"}],
            "prologSlurmctldScriptRefs": [{"name": "ctld-scripts"}],
            "epilogSlurmctldScriptRefs": [{"name": "ctld-scripts"}],
            "persistence": {"enabled": True, "existingClaim": "", "storageClassName": "", "accessModes": []},
            "service": {
                "metadata": {"annotations": {"lb": "internal"}},
                "spec": {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]},
                "port": 7000,
                "nodePort": 32500,
            },
            "metrics": {
                "enabled": True,
                "serviceMonitor": {
                    "enabled": True,
                    "labels": {"release": "prometheus"},
                    "interval": "30s",
                    "scrapeTimeout": "25s",
                },
            },
        },
        world(
            config_maps=SCRIPTS,
            accounting=accounting(),
            nodesets=(
                nodeset("worker-gpu", partition={"enabled": True, "config": "State=UP MaxTime=UNLIMITED"}),
                nodeset("worker-cpu", template={"spec": {"hostname": "cpu-"}}),
            ),
        ),
    ),
    "ha": (
        {
            "ha": {"enabled": True, "backups": 2},
            "persistence": {"enabled": True, "existingClaim": "statesave"},
        },
        world(claim_modes=frozenset({"ReadWriteMany"})),
    ),
    "ephemeral": ({"persistence": {"enabled": False}}, world()),
    "external": (
        {
            "external": True,
            "externalConfig": {"host": "ctl.example.org", "port": 6817},
            "accountingRef": {"name": "dbd"},
            "extraConf": "MinJobAge=2",
        },
        Observed(
            accounting=accounting(external=True, externalConfig={"host": "dbd.example.org", "port": 7819})
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_manifests_are_the_reviewed_ones(case: str) -> None:
    spec, observed = CASES[case]
    plan = decide(controller(**spec), observed)
    golden.check(f"controller-{case}", (desired.manifest for desired in plan.desired))

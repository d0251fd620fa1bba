"""Two slurmctld that share their state: clients are led to the one that works."""

import json

from dev.kubectl import Kubectl
from dev.target import LOCAL, release
from tests.e2e.slinky.lab import Slurm, slurm_cluster

FIRST, SECOND = "slurm-controller-0", "slurm-controller-1"
MANIFEST = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: state}}
spec:
  accessModes: [ReadWriteMany]
  resources: {{requests: {{storage: 1Gi}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: slurm-files}}
data: {{cgroup.conf: "CgroupPlugin=disabled"}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: slurm}}
spec:
  slurmKeyRef: {{name: slurm-keys, key: slurm.key}}
  jwtKeyRef: {{name: slurm-keys, key: jwt.key}}
  configFileRefs: [{{name: slurm-files}}]
  ha: {{enabled: true}}
  persistence: {{enabled: true, existingClaim: state}}
  extraConf: |
    ProctrackType=proctrack/linuxproc
    TaskPlugin=task/none
    JobAcctGatherType=jobacct_gather/none
    SlurmctldTimeout=10
  slurmctld: {{image: "{LOCAL}/slurmctld:{release()}"}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {{name: slurm}}
spec:
  controllerRef: {{name: slurm}}
  slurmrestd: {{image: "{LOCAL}/slurmrestd:{release()}"}}
"""
# Stopped, it holds its sockets but answers nobody, as on a machine that hangs.
FREEZE = "for p in /proc/[0-9]*; do case $(cat $p/comm) in slurmctld*) kill -STOP ${p#/proc/} ;; esac; done"


def active(slurm: Slurm) -> list[str]:
    label = "controller.slinky.slurm.net/active=true"
    found = json.loads(slurm.kubectl("get", "pods", "-l", label, "-o", "json"))
    return [pod["metadata"]["name"] for pod in found["items"]]


def said(slurm: Slurm) -> str:
    path = "jsonpath={.status.conditions[?(@.type=='Ready')].message}"
    return slurm.kubectl("get", "controller", "slurm", "-o", path)


def test_clients_follow_slurmctld_to_its_standby(installed: Kubectl) -> None:
    with slurm_cluster(installed, "failover", MANIFEST) as slurm:
        slurm.wait("Slurm says who is active", lambda: f"{FIRST} is active, says Slurm." in said(slurm))
        assert active(slurm) == [FIRST]
        slurm.kubectl("exec", FIRST, "-c", "slurmctld", "--", "sh", "-c", FREEZE)
        slurm.wait("the standby is active", lambda: f"{SECOND} is active, says Slurm." in said(slurm))
        assert active(slurm) == [SECOND]

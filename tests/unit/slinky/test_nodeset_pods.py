import contextlib
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.slinky import NodeSet
from slurmery.doors.merge import MergeError
from slurmery.slinky.nodeset import claims, pods, slurmd, template
from slurmery.slinky.nodeset.observed import Observed
from tests.unit.slinky import golden
from tests.unit.slinky.clusters import controller
from tests.unit.slinky.sets import SSSD, nodeset, nodeset_world

CLAIM = {
    "metadata": {"name": "scratch", "labels": {"tier": "fast"}, "annotations": {"note": "x"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
FULL: dict[str, Any] = {
    "metadata": {"labels": {"team": "hpc"}, "annotations": {"owner": "ops"}},
    "slurmd": {
        "image": "slurmd:26.05",
        "args": ["-v"],
        "env": [{"name": "TZ", "value": "UTC"}],
        "resources": {"limits": {"nvidia.com/gpu": 8, "cpu": "2500m", "memory": "64Gi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    },
    "logfile": {"image": "alpine:3"},
    "ssh": {"enabled": True, "extraSshdConfig": "LogLevel VERBOSE", **SSSD},
    "extraConf": "weight=5 Feature=ib",
    "template": {
        "metadata": {"labels": {"tier": "compute"}, "annotations": {"note": "x"}},
        "spec": {
            "hostname": "gpu-",
            "nodeName": "never",
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
                    }
                }
            },
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    },
    "volumeClaimTemplates": [CLAIM],
    "ordinalPadding": 3,
}
GPUS = nodeset_world(controller=controller(extraConf="GresTypes=gpu"), gres_conf="AutoDetect=nvidia")


def pod(given: NodeSet, observed: Observed | None = None, ordinal: int = 0, **more: Any) -> dict[str, Any]:
    made = template.build(given, observed or nodeset_world())
    return pods.numbered(given, made, "hash1", ordinal, **more)


def daemon(given: NodeSet, node: str, override: str = "") -> dict[str, Any]:
    return pods.daemon(given, template.build(given, nodeset_world()), "hash1", node, override)


def container(given: NodeSet, observed: Observed | None = None) -> dict[str, Any]:
    found: dict[str, Any] = pod(given, observed)["spec"]["containers"][0]
    return found


def environment(given: NodeSet) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container(given)["env"]}


@pytest.mark.parametrize(
    ("case", "manifests"),
    [
        ("minimal", [pod(nodeset())]),
        ("full", [*claims.build(nodeset(**FULL), "007"), pod(nodeset(**FULL), GPUS, 7, node="node-3")]),
        (
            "daemon",
            [daemon(nodeset(scalingMode="DaemonSet", volumeClaimTemplates=[CLAIM]), "node-3.example.org")],
        ),
        (
            "unprivileged",
            [pod(nodeset(slurmd={"image": "slurmd:26.05", "securityContext": {"privileged": False}}))],
        ),
    ],
)
def test_pods_are_the_reviewed_ones(case: str, manifests: list[dict[str, Any]]) -> None:
    golden.check(f"nodeset-pod-{case}", manifests)


@pytest.mark.parametrize(
    ("spec", "ordinal", "name", "hostname", "index"),
    [
        ({}, 0, "gpu-0", "gpu-0", "0"),
        ({"ordinalPadding": 3}, 7, "gpu-007", "gpu-007", "007"),
        ({"ordinalPadding": 2}, 1234, "gpu-1234", "gpu-1234", "1234"),
        ({"template": {"spec": {"hostname": "n-"}}}, 3, "gpu-3", "n-3", "3"),
        ({"template": {"spec": {"hostname": "n"}}, "ordinalPadding": 2}, 3, "gpu-03", "n03", "03"),
    ],
)
def test_a_number_makes_the_pods_name_and_host_name(
    spec: dict[str, Any], ordinal: int, name: str, hostname: str, index: str
) -> None:
    made = pod(nodeset(**spec), ordinal=ordinal)
    labels = made["metadata"]["labels"]
    assert (made["metadata"]["name"], made["spec"]["hostname"]) == (name, hostname)
    assert labels["nodeset.slinky.slurm.net/pod-name"] == name
    assert labels["nodeset.slinky.slurm.net/pod-index"] == index
    assert labels["nodeset.slinky.slurm.net/pod-hostname"] == hostname
    assert labels["nodeset.slinky.slurm.net/scaling-mode"] == "StatefulSet"
    assert labels["controller.kubernetes.io/hash"] == "hash1"


@pytest.mark.parametrize(
    ("node", "override", "hostname"),
    [("n1.example.org", "", "n1"), ("n1", "", "n1"), ("n1.example.org", "rack1-", "rack1-")],
)
def test_a_daemon_pod_is_called_like_its_node(node: str, override: str, hostname: str) -> None:
    made = daemon(nodeset(scalingMode="DaemonSet"), node, override)
    assert made["spec"]["hostname"] == hostname
    assert made["metadata"]["labels"]["nodeset.slinky.slurm.net/pod-hostname"] == hostname
    assert "nodeset.slinky.slurm.net/pod-index" not in made["metadata"]["labels"]
    assert made["metadata"]["generateName"] == "gpu-"


def test_a_daemon_pod_asked_for_twice_is_the_same_one() -> None:
    given = nodeset(scalingMode="DaemonSet")
    names = [daemon(given, node)["metadata"]["name"] for node in ("n1", "n1", "n2")]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("gpu-") for name in names)


def test_a_daemon_pod_comes_back_on_a_cordoned_node() -> None:
    keys = [each["key"] for each in daemon(nodeset(), "n1")["spec"]["tolerations"]]
    assert keys == ["nodeset.slinky.slurm.net/worker", "node.kubernetes.io/unschedulable"]


def node_terms(made: dict[str, Any]) -> Any:
    affinity = made["spec"]["affinity"]["nodeAffinity"]
    return affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]


def test_a_pinned_pod_can_only_go_to_its_node_and_none_is_placed_by_us() -> None:
    only = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-3"]}]}]
    assert node_terms(pod(nodeset(**FULL), node="node-3")) == only
    assert node_terms(daemon(nodeset(**FULL), "node-3")) == only
    assert node_terms(pod(nodeset(**FULL))) == [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
    assert "nodeName" not in pod(nodeset(**FULL))["spec"]


def test_two_workers_share_no_node_unless_the_user_says_so() -> None:
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    mine = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {kind: [mine]}}
    spec = {"template": {"spec": {"affinity": affinity}}}
    ours = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {
            "matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In", "values": ["slurmd"]}]
        },
    }
    assert pod(nodeset(**spec))["spec"]["affinity"]["podAntiAffinity"][kind] == [mine, ours]
    assert pod(nodeset(**spec, oversubscribeNode=True))["spec"]["affinity"] == affinity
    assert "affinity" not in pod(nodeset(oversubscribeNode=True))["spec"]


def test_workers_find_each_other_by_their_bare_names() -> None:
    spec = pod(nodeset(), nodeset_world(domain="corp.local"))["spec"]
    assert spec["subdomain"] == "slurm-workers-slurm"
    assert spec["dnsConfig"]["searches"] == ["slurm-workers-slurm.slurm.svc.corp.local"]
    assert "dnsPolicy" not in spec
    on_host = pod(nodeset(template={"spec": {"hostNetwork": True}}))["spec"]
    assert on_host["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_slurmd_listens_at_its_port_and_fetches_its_configuration() -> None:
    made = container(nodeset(slurmd={"image": "x", "args": ["-v"]}))
    assert made["ports"] == [{"name": "slurmd", "containerPort": 6818, "protocol": "TCP"}]
    assert made["args"][:4] == ["-Z", "--conf-server", "slurm-controller.slurm:6817", "--conf"]
    assert made["args"][5:] == ["-v"]
    elsewhere = controller(external=True, externalConfig={"host": "ctl", "port": 7})
    assert container(nodeset(), nodeset_world(controller=elsewhere))["args"][2] == "ctl:7"


def test_another_port_of_slurmd_is_registered() -> None:
    ports = [{"name": "slurmd", "containerPort": 7000}, {"name": "ssh", "containerPort": 2222}]
    moved = nodeset(slurmd={"image": "x", "ports": ports}, ssh={"enabled": True, **SSSD})
    assert [port["containerPort"] for port in container(moved)["ports"]] == [7000, 2222]
    assert " Port=7000 " in container(moved)["args"][4]
    assert "Port 2222\n" in template.sshd_config(moved)
    assert "Port=" not in container(nodeset())["args"][4]


def test_the_nodeset_is_called_in_slurm_by_the_stem_of_its_host_names() -> None:
    assert "Features=foo " in container(nodeset(template={"spec": {"hostname": "foo-"}}))["args"][4]
    assert "Features=gpu " in container(nodeset())["args"][4]


@pytest.mark.parametrize(
    ("slurmd_limits", "pod_limits", "cpus", "memory"),
    [
        ({}, {}, "0", "0"),
        ({}, {"cpu": "1500m", "memory": "1Gi"}, "2", "1024"),
        ({"cpu": 4}, {"cpu": 8, "memory": "2Gi"}, "4", "2048"),
        ({"cpu": 0.5, "memory": "1500000000"}, {}, "1", "1430"),
    ],
)
def test_slurmd_is_told_its_limits(
    slurmd_limits: dict[str, Any], pod_limits: dict[str, Any], cpus: str, memory: str
) -> None:
    given = nodeset(
        slurmd={"image": "x", "resources": {"limits": slurmd_limits}},
        template={"spec": {"resources": {"limits": pod_limits}}},
    )
    told = environment(given)
    assert (told["POD_CPUS"], told["POD_MEMORY"]) == (cpus, memory)


def test_gpus_of_the_limits_are_registered() -> None:
    assert "Gres=gpu:8" in container(nodeset(**FULL), GPUS)["args"][4]
    assert "Gres" not in container(nodeset(**FULL), nodeset_world(gres_conf="AutoDetect=off"))["args"][4]
    mine = nodeset(**FULL | {"extraConf": "gres=gpu:h200:8"})
    assert container(mine, GPUS)["args"][4].count("gpu:") == 1


def test_a_nodeset_without_problems_has_none_and_one_with_says_which() -> None:
    assert slurmd.problems(nodeset(**FULL), GPUS) == ()
    undetected = nodeset_world(gres_conf="AutoDetect=off")
    assert {each.reason for each in slurmd.problems(nodeset(**FULL), undetected)} == {"GresMismatch"}


def test_a_malformed_extra_conf_does_not_stop_the_nodes_from_registering() -> None:
    given = nodeset(extraConf="Weight=1 x=\x01")
    assert "'Features=gpu Topology='" in container(given)["args"][4]
    (problem,) = slurmd.problems(given, nodeset_world())
    assert problem.reason == "InvalidExtraConf"


def test_slurmd_is_privileged_unless_the_user_says_no() -> None:
    assert container(nodeset())["securityContext"] == {
        "privileged": True,
        "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]},
    }
    plain = nodeset(slurmd={"image": "x", "securityContext": {"privileged": False}})
    assert container(plain)["securityContext"] == {"privileged": False}
    chosen = {"privileged": False, "capabilities": {"add": ["SYS_NICE"]}}
    assert container(nodeset(slurmd={"image": "x", "securityContext": chosen}))["securityContext"] == chosen


def test_one_may_log_in_to_workers_only_if_asked_for() -> None:
    with_ssh, without = pod(nodeset(**FULL))["spec"], pod(nodeset())["spec"]
    assert [port["name"] for port in with_ssh["containers"][0]["ports"]] == ["slurmd", "ssh"]
    assert {volume["name"] for volume in without["volumes"]} == {"slurm-etc", "slurm-logfile"}
    assert {"ssh-config", "sssd-conf"} <= {volume["name"] for volume in with_ssh["volumes"]}


def test_every_mount_has_its_volume() -> None:
    spec = pod(nodeset(**FULL))["spec"]
    volumes = {volume["name"] for volume in spec["volumes"]}
    for each in [*spec["containers"], *spec["initContainers"]]:
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes


def test_a_claim_takes_the_place_of_a_volume_of_its_name() -> None:
    given = nodeset(**FULL)
    found = [volume for volume in pod(given, ordinal=7)["spec"]["volumes"] if volume["name"] == "scratch"]
    assert found == [{"name": "scratch", "persistentVolumeClaim": {"claimName": "scratch-gpu-007"}}]
    (claim,) = claims.build(given, pods.padded(given, 7))
    assert claim["metadata"]["name"] == "scratch-gpu-007"
    assert claim["metadata"]["labels"] == {
        "tier": "fast",
        "app.kubernetes.io/name": "slurmd",
        "app.kubernetes.io/instance": "gpu",
    }
    golden.valid(claim)


def test_a_daemons_claim_is_called_by_its_host_name() -> None:
    made = daemon(nodeset(volumeClaimTemplates=[CLAIM]), "node-3.example.org")
    assert {"claimName": "scratch-gpu-node-3"} in [
        volume.get("persistentVolumeClaim") for volume in made["spec"]["volumes"]
    ]


@pytest.mark.parametrize("given", [{"a": 1}, [{}], ["x"], [CLAIM, CLAIM], [{"metadata": "x"}]])
def test_claim_templates_of_a_wrong_shape_are_refused(given: Any) -> None:
    with pytest.raises(MergeError, match=r"spec\.volumeClaimTemplates"):
        claims.templates(nodeset(volumeClaimTemplates=given))


def test_the_pod_belongs_to_its_nodeset() -> None:
    assert pod(nodeset())["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": "NodeSet",
            "name": "gpu",
            "uid": "uid-gpu",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["resources", "limits", "cpu", "securityContext", "affinity", "hostname", "name"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)
FIELDS = ["resources", "securityContext", "affinity", "hostname", "volumes", "env", "tolerations"]
free = st.dictionaries(st.sampled_from(FIELDS), anything, max_size=3)


@given(free, free)
def test_whatever_is_written_is_built_or_refused(worker: dict[str, Any], whole: dict[str, Any]) -> None:
    with contextlib.suppress(MergeError):
        pod(nodeset(slurmd=worker, template={"spec": whole}))


SCONTROL = """#!/bin/sh
if [ "$1" = --oneliner ]; then printf '%s\\n' "$RECORD"; exit $STATUS; fi
printf '%s\\n' "$@" >>"$CALLS"
"""


@pytest.mark.parametrize(
    ("record", "status", "told"),
    [
        ("NodeName=gpu-0 State=IDLE ", 0, True),
        ("NodeName=gpu-0 State=IDLE+DRAIN Reason=slurm-operator: cordoned [slurm@now]", 0, True),
        ("NodeName=gpu-0 State=IDLE+DRAIN Reason=bad disk [root@now]", 0, False),
        ("NodeName=gpu-0 Reason=see slurm-operator: log [root@now]", 0, False),
        ("slurm_load_node error", 1, False),
    ],
    ids=["no reason", "our reason", "an administrator's", "one that names us", "slurmctld is away"],
)
def test_a_stopping_pod_marks_its_node_down_but_never_over_an_administrators_reason(
    tmp_path: Path, record: str, status: int, told: bool
) -> None:
    stub, calls = tmp_path / "scontrol", tmp_path / "calls"
    stub.write_text(SCONTROL)
    stub.chmod(0o755)
    command = container(nodeset())["lifecycle"]["preStop"]["exec"]["command"]
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RECORD": record, "STATUS": str(status), "CALLS": str(calls)}
    subprocess.run(command, env=env, check=True, timeout=10)
    assert calls.exists() is told
    if told:
        words = calls.read_text().splitlines()
        assert words[0] == "update"
        assert words[2:] == ["state=down", "reason=slurm-operator: Pod is terminating"]

"""slurm.conf: the contract's keys in the contract's order, whatever users write into their objects."""

from dataclasses import replace
from typing import Any

import pytest

from slurmery.nebius.config.nodes import real_memory
from slurmery.nebius.config.partitions import References, Unresolved, references
from slurmery.nebius.config.slurm import slurm_files, written_room
from slurmery.nebius.configmaps import build
from slurmery.slurmconf.text import TextError
from tests.unit.nebius.clusters import at, cluster, nodeset
from tests.unit.slurmconf.reader import read

BASE = "slurm_base.conf.noedit"


def conf(version: str = "1.22", *nodesets: Any, **changes: Any) -> str:
    files = slurm_files(cluster(version, nodesets, **changes))
    return files["slurm.conf" if version == "1.22" else BASE]


def keys(text: str) -> list[str]:
    return [line[0][0] for line in read(text.replace("include ", "include=")) if line]


def settings(text: str) -> dict[str, str]:
    return dict(line[0] for line in read(text.replace("include ", "include=")))


def between(text: str, first: str, last: str) -> list[str]:
    return text.partition(f"{first}\n")[2].partition(f"\n{last}")[0].splitlines()


def test_keys_come_in_the_order_of_the_contract() -> None:
    order = """ClusterName SlurmctldHost AuthType CredType DefMemPerNode DefCpuPerGPU CompleteWait Epilog
        Prolog TaskPluginParam MaxJobCount MinJobAge MessageTimeout TopologyPlugin TopologyParam GresTypes
        MpiDefault MailProg ProctrackType ReturnToService SlurmctldPidFile SlurmctldPort
        SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmUser StateSaveLocation TaskPlugin
        CliFilterPlugins LaunchParameters ScronParameters PropagateResourceLimits
        SchedulerParameters HealthCheckInterval HealthCheckProgram HealthCheckNodeState
        InactiveLimit KillOnBadExit KillWait UnkillableStepTimeout SlurmctldTimeout SlurmdTimeout
        TCPTimeout WaitTime SlurmctldParameters RebootProgram ResumeTimeout SchedulerType SelectType
        SelectTypeParameters SlurmctldDebug SlurmctldLogFile SlurmdDebug SlurmdLogFile DebugFlags
        MaxNodeCount MaxArraySize JobRequeue PreemptMode PreemptType PartitionName PartitionName
        Nodeset AccountingStorageType AccountingStorageHost AccountingStoragePort JobCompType
        AccountingStorageTRES AccountingStoreFlags AcctGatherInterconnectType
        AcctGatherFilesystemType AcctGatherProfileType JobAcctGatherType JobAcctGatherFrequency
        JobAcctGatherParams PriorityWeightAge PriorityWeightFairshare PriorityWeightQOS
        PriorityWeightTRES AuthAltTypes AuthAltParameters include"""
    assert keys(conf()) == order.split()


def test_the_custom_text_is_included_as_it_was_written() -> None:
    files = slurm_files(
        cluster(customSlurmConfig="# mine\nMaxStepCount=5\n\nPartitionName=x \\\n  Nodes=ALL\n")
    )

    assert files["slurm.conf"].endswith("\ninclude custom_slurm.conf\n")
    assert files["custom_slurm.conf"].endswith("# mine\nMaxStepCount=5\n\nPartitionName=x \\\n  Nodes=ALL")


@pytest.mark.parametrize("custom", ["just words", "MaxStepCount=5 \\", "A=1\nPartitionName main", "A=1\x00"])
def test_a_custom_text_that_slurm_could_not_read_is_refused(custom: str) -> None:
    with pytest.raises(TextError, match="customSlurmConfig"):
        slurm_files(cluster(customSlurmConfig=custom))


def test_the_newer_generation_has_an_entry_that_includes_the_rest() -> None:
    files = slurm_files(cluster("5.0"))

    assert [line for line in files["slurm.conf"].splitlines() if not line.startswith("#")] == [
        "include slurm_base.conf.noedit",
        "include slurm_k8s_extra.conf.noedit",
    ]
    assert "include" not in files[BASE]
    for old in ("custom_slurm.conf", "autogen_slurm.conf", "slurm.gen.conf", "override_slurm.conf"):
        assert old not in "".join((*files, *files.values()))


def test_every_generated_file_of_the_newer_generation_warns_those_who_edit_it() -> None:
    for text in build.slurm_files(cluster("5.0", (nodeset("gpu"),))).values():
        banner = text.splitlines()[:3]
        assert all(line.startswith("#") and len(line) <= 80 for line in banner)
        assert not any(word in text for word in ("SlurmCluster", "customSlurmConfig", "Helm"))


@pytest.mark.parametrize("version", ["1.22", "5.0"])
def test_an_empty_topology_plugin_does_not_appear(version: str) -> None:
    text = conf(version, slurmConfig__topologyPlugin="")
    assert "TopologyPlugin" not in text


def test_a_block_topology_is_the_only_one() -> None:
    text = conf(slurmConfig__topologyPlugin="topology/block")
    assert "TopologyPlugin=topology/block" in text
    assert "topology/tree" not in text


def test_power_saving_is_set_up_for_nodesets() -> None:
    text = conf("5.0", nodeset("gpu", 16, ephemeralNodes=True), nodeset("cpu", 2), slurmConfig={})
    found = settings(text)

    assert text.count("ResumeTimeout=") == 1
    assert {key: found[key] for key in ("SuspendTime", "ResumeTimeout", "SuspendExcNodes")} == {
        "SuspendTime": "1000000000",
        "ResumeTimeout": "1800",
        "SuspendExcNodes": "cpu-[0-1]",
    }
    assert found["ResumeProgram"] == "/opt/soperator/bin/power_resume.sh"
    assert found["SuspendProgram"] == "/opt/soperator/bin/power_suspend.sh"
    assert found["ResumeFailProgram"] == "/opt/soperator/bin/power_resume_fail.sh"
    assert found["RebootProgram"] == "/opt/bin/slurm/reboot.sh"
    assert "cloud_dns,idle_on_node_suspend" in found["SlurmctldParameters"]
    assert (
        "PowerAction=soperator-worker-handoff Program=/opt/bin/slurm/worker_handoff.py Location=slurmd"
        in text
    )


@pytest.mark.parametrize(
    ("given", "there"), [(None, True), ({"enabled": True}, True), ({"enabled": False}, False)]
)
def test_slurmctld_offers_metrics_unless_told_not_to(given: Any, there: bool) -> None:
    text = conf("5.0", slurmNodes__controller__openMetrics=given)
    assert ("MetricsType=metrics/openmetrics" in text) == there


@pytest.mark.parametrize(
    ("tag", "metrics", "action"),
    [
        (":26.05", True, True),
        (":5.0.1-noble-slurm26.05.3", True, True),
        (":25.11.2", True, False),
        (":5.0.1-noble-slurm25.05.4", False, False),
        (":24.11", False, False),
        (":24.11.6-trixie@sha256:26.05", False, False),
        # Whatever does not tell is of this generation.
        (":5.0.0", True, True),
        ("", True, True),
        ("@sha256:24.11", True, True),
    ],
)
def test_settings_that_this_slurm_does_not_know_are_left_out(tag: str, metrics: bool, action: bool) -> None:
    text = conf("5.0", slurmNodes__controller__slurmctld__image=f"host:24.11/slurmctld{tag}")
    assert ("MetricsType=" in text, "PowerAction=" in text) == (metrics, action)


@pytest.mark.parametrize(("tag", "there"), [("5.0.0", True), ("5.0.0-slurm26.05.3", True), ("26.05", False)])
def test_auto_resume_is_only_for_a_slurm_that_has_it(tag: str, there: bool) -> None:
    image = at("slurmNodes__controller__slurmctld__image", f"slurmctld:{tag}")
    text = conf("5.0", nodeset("gpu", nodeConfig__autoResume=False), **image)
    assert ("AutoResume=Off" in text) == there
    assert ("WARNING: NodeSet gpu: this Slurm does not know AutoResume" in text) != there


@pytest.mark.parametrize(
    ("memory", "mib"), [("512Mi", 512), ("1G", 953), ("1000M", 953), (1073741824, 1024), (None, 0)]
)
def test_real_memory_is_in_mib_rounded_down(memory: Any, mib: int) -> None:
    assert real_memory({"memory": memory} if memory else {}) == mib


def test_nodes_come_one_line_for_a_nodeset() -> None:
    plain = nodeset("cpu", 1, slurmd__resources={"memory": "2Gi"})
    full = nodeset(
        "gpu",
        3,
        nodeConfig={
            "features": ["h200", "ib"],
            "autoResume": False,
            "static": "Weight=10 Feature=x State=UP",
        },
        slurmd__resources={"memory": "1Gi"},
        slurmd__port=7000,
    )
    text = conf("5.0", plain, full, nodeset("none", 0))
    assert [line for line in text.splitlines() if line.startswith(("NodeName", "NodeSet=", "#WARNING"))] == [
        (
            "NodeName=cpu-0 State=CLOUD NodeAddr=cpu-0.borealis-nodeset-svc.slurm.svc.cluster.local"
            " RealMemory=2048 Port=6818"
        ),
        (
            "NodeName=gpu-[0-2] State=CLOUD NodeAddr=gpu-[0-2].borealis-nodeset-svc.slurm.svc.cluster.local"
            " RealMemory=1024 AutoResume=Off Port=7000 Feature=h200,ib Weight=10"
        ),
        "#WARNING: NodeSet none is skipped: it has no replicas",
        "NodeSet=cpu Nodes=cpu-0",
        "NodeSet=gpu Nodes=gpu-[0-2]",
    ]


def structured(*partitions: dict[str, Any]) -> dict[str, Any]:
    return {"partitionConfiguration": {"configType": "structured", "partitions": list(partitions)}}


def partition_lines(text: str) -> list[str]:
    return between(text, "#Partitions", "#\n#Nodesets")


def test_partitions_are_made_of_nodesets() -> None:
    given = structured(
        {"name": "all", "isAll": True, "config": "Default=YES"},
        {"name": "some", "nodeSetRefs": ["gpu", "lost", "none", "cpu"], "config": "MaxTime=1"},
        {"name": "empty", "nodeSetRefs": ["lost"]},
        {"name": "nothing"},
    )
    sets = (nodeset("gpu"), nodeset("cpu"), nodeset("none", 0))
    assert partition_lines(conf("5.0", *sets, **given)) == [
        "PartitionName=all Nodes=ALL Default=YES",
        "#WARNING: NodeSet 'lost' of partition some is ignored: does not exist",
        "#WARNING: NodeSet 'none' of partition some is ignored: no replicas",
        "PartitionName=some Nodes=gpu,cpu MaxTime=1",
        "#WARNING: NodeSet 'lost' of partition empty is ignored: does not exist",
        "#WARNING: partition empty is left without nodes",
        'PartitionName=empty Nodes=""',
        "#WARNING: partition nothing is skipped: it names no NodeSet",
    ]
    assert references(cluster("5.0", sets, **given)) == References(
        (
            Unresolved("some", "lost", "does not exist"),
            Unresolved("some", "none", "no replicas"),
            Unresolved("empty", "lost", "does not exist"),
        ),
        ("empty",),
    )


def test_references_are_looked_at_only_where_partitions_are_made_of_nodesets() -> None:
    assert references(cluster()) == References()


def test_a_cluster_without_nodesets_says_so() -> None:
    assert "#WARNING: there is no NodeSet, and so no node" in conf("5.0").splitlines()


def test_default_partitions() -> None:
    by_default: dict[str, Any] = {"partitionConfiguration": {"configType": "default"}}
    common = "MaxTime=INFINITE State=UP OverSubscribe=YES"
    main = f"PartitionName=main Nodes=ALL Default=YES PriorityTier=10 {common}"
    hidden = f"PartitionName=hidden Nodes=ALL Default=NO PriorityTier=10 PreemptMode=OFF Hidden=YES {common}"
    background = (
        f"PartitionName=background Nodes=ALL Default=NO PriorityTier=1 PreemptMode=OFF Hidden=YES {common}"
    )
    assert partition_lines(conf(**by_default)) == [main, hidden, background]
    assert partition_lines(conf("5.0", **by_default)) == [main, hidden]


def custom(*lines: str) -> dict[str, Any]:
    return {"partitionConfiguration": {"configType": "custom", "rawConfig": list(lines)}}


def test_custom_partitions_are_trimmed_and_kept() -> None:
    text = conf(**custom("  PartitionName = main Nodes=ALL ", "PartitionName=b Nodes=PartitionName=x"))
    assert partition_lines(text) == ["PartitionName=main Nodes=ALL", "PartitionName=b Nodes=PartitionName=x"]


@pytest.mark.parametrize(
    "line",
    ["PartitionName=a Nodes=ALL\nSlurmUser=evil", "PartitionName=a \\", "PartitionNames=a", "PartitionName="],
)
def test_a_custom_partition_is_nothing_but_a_partition(line: str) -> None:
    with pytest.raises(TextError, match=r"rawConfig\[1\]"):
        conf(**custom("PartitionName=ok Nodes=ALL", line))


LINES = {
    "prolog": ("1.22", "slurmConfig__prolog", "Prolog"),
    "epilog": ("1.22", "slurmConfig__epilog", "Epilog"),
    "task": ("1.22", "slurmConfig__taskPluginParam", "TaskPluginParam"),
    "topology": ("1.22", "slurmConfig__topologyParam", "TopologyParam"),
    "health": ("1.22", "healthCheckConfig__healthCheckProgram", "HealthCheckProgram"),
    "flags": ("1.22", "slurmNodes__accounting__slurmConfig__accountingStoreFlags", "AccountingStoreFlags"),
    "task prolog": ("5.0", "slurmConfig__taskProlog", "TaskProlog"),
}


@pytest.mark.parametrize(("version", "path", "key"), LINES.values(), ids=LINES)
def test_a_line_break_in_a_value_is_refused_with_its_name(version: str, path: str, key: str) -> None:
    with pytest.raises(TextError, match=key):
        conf(version, **{path: "/a\nSlurmUser=evil"})


def with_texts(text: str) -> str:
    """A configuration with the text wherever a user writes in Slurm's own language."""
    nodes = nodeset("gpu", 3, nodeConfig={"static": text, "gresConfig": [text], "features": ["f"]})
    partition = {"name": "p", "nodeSetRefs": ["gpu"], "config": text}
    files = build.slurm_files(cluster("5.0", (nodes,), **structured(partition)))
    return files[BASE] + files["gres.conf"]


@pytest.mark.parametrize("text", ["Weight=1\nSlurmUser=evil", "Weight=1 \\", "Weight=1\x00", "a\u2028b"])
def test_a_text_in_slurms_own_language_is_one_line(text: str) -> None:
    with pytest.raises(TextError, match=r"must (be one line|not end in a backslash)"):
        with_texts(text)


def test_ten_thousand_workers_make_small_files() -> None:
    by_sets = cluster("5.0", tuple(nodeset(f"pool-{index}", 1000) for index in range(10)))
    for found in (cluster(slurmNodes__worker__size=10_000), by_sets):
        files = build.slurm_files(found)
        text = files.get(BASE, files["slurm.conf"])
        assert sum(map(len, files.values())) < 32 * 1024
        assert settings(text)["MaxNodeCount"] == "32768"
        assert settings(text)["MaxArraySize"] == "50000"


def test_room_for_nodes_never_shrinks() -> None:
    big = slurm_files(cluster(slurmNodes__worker__size=3000))
    small = replace(cluster(), room=written_room(big))

    assert written_room(big) == written_room(slurm_files(small)) == 8192
    assert written_room(slurm_files(cluster("5.0", (nodeset("gpu", 3000),)))) == 8192
    assert written_room({}) == 0


def test_files_stay_the_same_in_whatever_order_nodesets_are_found() -> None:
    sets = (nodeset("b"), nodeset("a"), nodeset("c", 1))
    assert build.slurm_files(cluster("5.0", sets)) == build.slurm_files(cluster("5.0", sets[::-1]))


def test_jobs_are_accounted_for_where_slurmdbd_listens() -> None:
    found = settings(conf(slurmNodes__accounting__slurmdbd__port=7819))
    assert found["AccountingStorageHost"] == "aurora-accounting-svc.slurm.svc.cluster.local"
    assert found["AccountingStoragePort"] == "7819"


def test_tokens_are_taken_with_and_without_accounting() -> None:
    assert "AuthAltTypes=auth/jwt" in conf(slurmNodes__accounting__enabled=False)
    assert "AuthAltTypes" not in conf(slurmNodes__rest__enabled=False)
    assert "AccountingStorageType" not in conf(slurmNodes__accounting__enabled=False)


def test_the_controller_is_named_as_its_generation_does() -> None:
    assert settings(conf())["SlurmctldHost"] == "controller-0(aurora-controller-svc)"
    assert settings(conf("5.0"))["SlurmctldHost"] == "borealis-controller-0(borealis-controller-svc)"
    bare = slurm_files(cluster("5.0", born_bare=True))[BASE]
    assert settings(bare)["SlurmctldHost"] == "controller-0(borealis-controller-svc)"

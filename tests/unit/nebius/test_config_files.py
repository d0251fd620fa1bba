"""The smaller files, each as the contract writes it."""

from typing import Any

import pytest

from slurmery.nebius import names
from slurmery.nebius.config.cgroup import cgroup_conf
from slurmery.nebius.config.gres import gres_conf
from slurmery.nebius.config.limits import limits_conf
from slurmery.nebius.config.mpi import mpi_conf
from slurmery.nebius.config.plugstack import plugstack_conf
from slurmery.nebius.config.slurm import slurm_rest_conf
from slurmery.nebius.config.sshd import sshd_config
from slurmery.nebius.config.supervisord import supervisord_conf
from slurmery.slurmconf.text import TextError
from tests.unit.nebius.clusters import cluster, nodeset

CGROUP_V2 = """\
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
CgroupPlugin=cgroup/v2
ConstrainSwapSpace=no
EnableControllers=yes
IgnoreSystemd=yes"""
CGROUP_V1 = """\
CgroupMountpoint=/sys/fs/cgroup
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
CgroupPlugin=cgroup/v1
ConstrainSwapSpace=yes"""


@pytest.mark.parametrize(("version", "text"), [("v1", CGROUP_V1), ("v2", CGROUP_V2)])
def test_cgroup_conf_of_each_version(version: str, text: str) -> None:
    assert cgroup_conf(cluster(slurmNodes__worker__cgroupVersion=version)) == text


def test_custom_cgroup_settings_replace_ours_and_keep_their_words() -> None:
    custom = "\n# why\n constrainswapspace = yes\n\nnonsense\nAllowedRAMSpace=\n"
    text = cgroup_conf(cluster(customCgroupConfig=custom))

    assert "ConstrainSwapSpace" not in text
    assert text.splitlines()[7:] == [
        "###",
        "# Settings of this cluster's own",
        "###",
        "# why",
        " constrainswapspace = yes",
        "nonsense",
        "AllowedRAMSpace=",
    ]


def test_blank_custom_cgroup_settings_add_nothing() -> None:
    assert cgroup_conf(cluster(customCgroupConfig=" \n \n")) == CGROUP_V2


@pytest.mark.parametrize(("kind", "text"), [("gpu", "#Gres\nAutoDetect=nvml"), ("cpu", "#Gres")])
def test_gpus_are_detected_where_there_are_some(kind: str, text: str) -> None:
    assert gres_conf(cluster(clusterType=kind)) == text


def test_gres_of_nodesets_comes_one_line_for_all_nodes() -> None:
    declared = nodeset("gpu", 3, gpu__enabled=True, nodeConfig__gresConfig=["Name=gpu Count=8", "Name=nic"])
    text = gres_conf(cluster("5.0", (declared, nodeset("cpu", 1), nodeset("none", 0))))

    assert text.splitlines()[3:] == [
        "#Gres",
        "AutoDetect=nvidia",
        "#Nodes",
        "#NodeSet cpu",
        "#nothing beyond what is detected",
        "#NodeSet gpu",
        "NodeName=gpu-[0-2] Name=gpu Count=8",
        "NodeName=gpu-[0-2] Name=nic",
        "#NodeSet none",
        "#WARNING: NodeSet none is skipped: it has no replicas",
    ]


def test_gres_without_nodesets_says_so() -> None:
    assert gres_conf(cluster("5.0")).endswith("#WARNING: there is no NodeSet, and so no node")


@pytest.mark.parametrize(("env", "text"), [("A=1;B=2", "#MPI\nPMIxEnv=A=1;B=2"), ("", "#MPI")])
def test_mpi_conf(env: str, text: str) -> None:
    assert mpi_conf(cluster(mpiConfig={"pmixEnv": env})) == text


def test_slurmrestd_includes_slurm_conf() -> None:
    assert slurm_rest_conf(cluster()) == "#slurmrestd\ninclude slurm.conf\nAuthType=auth/jwt"
    assert "include slurm.conf" in slurm_rest_conf(cluster("5.0")).splitlines()


def plugstack(version: str = "1.22", **given: Any) -> list[str]:
    lines = plugstack_conf(cluster(version, plugStackConfig=given)).splitlines()
    return lines if version == "1.22" else lines[3:]


PYXIS = "spank_pyxis.so runtime_path=/run/pyxis execute_entrypoint=0 container_scope=global sbatch_support=1"


def test_three_plugins_without_any_of_the_users_own() -> None:
    assert plugstack(
        pyxis={"required": False, "containerImageSave": ""}, ncclDebug={"outputToFile": False}
    ) == [
        "required chroot.so /mnt/jail",
        f"optional {PYXIS} container_image_save=",
        (
            "optional spanknccldebug.so enabled=0 log-level=INFO out-file=0"
            " out-dir=/opt/soperator-outputs/nccl_logs out-stdout=0"
        ),
    ]


def test_plugins_with_everything_set() -> None:
    nccl = {
        "required": True,
        "enabled": True,
        "logLevel": "TRACE",
        "outputToFile": True,
        "outputToStdOut": True,
        "outputDirectory": "/logs",
    }
    custom = [
        {"path": "a.so"},
        {"path": "/b.so", "required": True, "arguments": {"z": "1", "a": "2"}},
    ]
    assert plugstack(pyxis={"containerImageSave": "/images"}, ncclDebug=nccl, customPlugins=custom)[1:] == [
        f"required {PYXIS} container_image_save=/images",
        "required spanknccldebug.so enabled=1 log-level=TRACE out-file=1 out-dir=/logs out-stdout=1",
        "optional a.so",
        "required /b.so a=2 z=1",
    ]


def test_plugins_of_the_newer_generation() -> None:
    assert plugstack("5.0", ncclInspectorPreConf={}) == [
        "required chroot.so /mnt/jail",
        f"required {PYXIS} importer=/opt/slurm_scripts/pyxis_caching_importer.sh use_squashfuse=0",
        (
            "optional spanknccldebug.so enabled=0 log-level=INFO out-file=1"
            " out-dir=/opt/soperator-outputs/local/nccl_logs out-stdout=0"
        ),
        (
            "optional spank_nccl_inspector_preconf.so enabled=1"
            " profiler-plugin=/usr/lib/x86_64-linux-gnu/libnccl-profiler-inspector.so"
            " dump-dir=/opt/soperator-outputs/shared/nccl_profiles/%j/%s dump-verbose=0"
            " dump-thread-interval-microseconds=1000000"
        ),
    ]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"pyxis": {"containerImageSave": "/a\nrequired evil.so"}}, "pyxis.containerImageSave"),
        ({"ncclDebug": {"outputDirectory": "/a b"}}, "ncclDebug.outputDirectory"),
        ({"customPlugins": [{"path": "a.so #"}]}, r"customPlugins\[0\].path"),
        (
            {"customPlugins": [{"path": "a.so", "arguments": {"k": "v\nx"}}]},
            r"customPlugins\[0\].arguments.k",
        ),
    ],
)
def test_no_value_adds_a_plugin_or_an_argument(given: dict[str, Any], field: str) -> None:
    with pytest.raises(TextError, match=f"plugStackConfig.{field}"):
        plugstack(**given)


@pytest.mark.parametrize("component", [names.LOGIN, names.CONTROLLER])
def test_limits_are_left_alone_where_no_jobs_run(component: str) -> None:
    assert limits_conf(component, "") == "#Empty security limits file"


def test_jobs_may_use_all_there_is() -> None:
    lines = limits_conf(names.WORKER, "").splitlines()

    assert len([line for line in lines if line.endswith("unlimited")]) == 26
    assert lines[-6:] == [
        "#nofile",
        "* soft nofile 1048576",
        "* hard nofile 1048576",
        "#nice",
        "* soft nice -20",
        "* hard nice -20",
    ]


@pytest.mark.parametrize("component", [names.LOGIN, names.CONTROLLER, names.WORKER])
def test_custom_limits_are_taken_as_they_are(component: str) -> None:
    assert limits_conf(component, "* soft nofile 1\n") == "* soft nofile 1\n"


def test_sshd_lets_nobody_in_by_password() -> None:
    lines = sshd_config(2222, directory=False).splitlines()

    assert lines[0] == "Port 2222"
    assert "PasswordAuthentication no" in lines
    assert [line for line in lines if line.startswith("HostKey")] == [
        "HostKey /etc/ssh/sshd_keys/ssh_host_rsa_key",
        "HostKey /etc/ssh/sshd_keys/ssh_host_ecdsa_key",
        "HostKey /etc/ssh/sshd_keys/ssh_host_ed25519_key",
    ]


@pytest.mark.parametrize("directory", [True, False])
def test_sshd_asks_the_directory_for_keys_only_where_there_is_one(directory: bool) -> None:
    assert ("AuthorizedKeysCommand " in sshd_config(22, directory=directory)) == directory


def test_supervisord_starts_slurmd_before_sshd() -> None:
    text = supervisord_conf()

    assert text.index("[program:slurmd]\npriority=1\n") < text.index("[program:sshd]\npriority=10\n")

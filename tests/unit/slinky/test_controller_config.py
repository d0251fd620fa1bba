"""slurm.conf: the contract's keys in the contract's order, whatever users write into their objects."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmery.api.slinky import Accounting, NodeSet
from slurmery.slinky.controller.config import config, external_config, for_clients
from slurmery.slinky.controller.observed import Observed
from slurmery.slurmconf.text import TextError
from tests.unit.slinky.clusters import accounting, controller, nodeset, world
from tests.unit.slurmconf.reader import read

EXTERNAL: dict[str, Any] = {
    "external": True,
    "externalConfig": {"host": "slurmctld.example.org", "port": 6817},
}
EXTERNAL_CONF = """\
#
### GENERAL ###
ClusterName=_slurm
SlurmUser=slurm
SlurmctldHost=slurmctld.example.org
SlurmctldPort=6817
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
#
### ACCOUNTING ###
"""
NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"


def conf(observed: Observed | None = None, /, **spec: Any) -> str:
    return config(controller(**spec), observed or world()).files["slurm.conf"]


def lines(text: str, section: str) -> list[str]:
    """The lines of a section."""
    found = text.partition(f"### {section} ###\n")[2].partition("#\n###")[0]
    return found.splitlines()


def test_sections_come_in_the_order_of_the_contract() -> None:
    observed = world(
        config_maps={"scripts": {"a.sh": ""}},
        nodesets=(nodeset("gpu"),),
    )
    text = conf(
        observed,
        prologScriptRefs=[{"name": "scripts"}],
        prologSlurmctldScriptRefs=[{"name": "scripts"}],
        extraConf="AuthInfo=cred_expire=120",
    )
    titles = [line.strip("# ") for line in text.splitlines() if line.startswith("### ")]
    assert titles == [
        "GENERAL",
        "LOGGING",
        "PLUGINS & PARAMETERS",
        "ACCOUNTING",
        "SLURMCTLD PROLOG & EPILOG",
        "PROLOG & EPILOG",
        "NODESET & PARTITION",
        "EXTRA CONFIG",
        "MERGED CONFIG",
    ]


@pytest.mark.parametrize(
    ("spec", "accountings", "ending"),
    [
        ({}, None, NO_ACCOUNTING),
        ({"extraConf": "MinJobAge=2"}, None, NO_ACCOUNTING),
        (
            {"accountingRef": {"name": "slurm"}},
            accounting(),
            (
                "AccountingStorageType=accounting_storage/slurmdbd\n"
                "AccountingStorageHost=slurm-accounting\n"
                "AccountingStoragePort=6819\n"
            ),
        ),
    ],
)
def test_an_external_cluster_gets_just_what_slurmrestd_needs(
    spec: dict[str, Any], accountings: Any, ending: str
) -> None:
    written = external_config(
        controller(metadata={"namespace": ""}, **EXTERNAL, **spec), Observed(accounting=accountings)
    )
    assert written.files == {"slurm.conf": EXTERNAL_CONF + ending}


@pytest.mark.parametrize(
    ("backups", "hosts"),
    [
        (0, ["slurm-controller-0(slurm-controller-0.slurm-controller-internal.slurm)"]),
        (
            1,
            [
                "slurm-controller-0(slurm-controller-0.slurm)",
                "slurm-controller-1(slurm-controller-1.slurm)",
            ],
        ),
    ],
)
def test_every_slurmctld_is_named_with_its_address(backups: int, hosts: list[str]) -> None:
    ha = {"ha": {"enabled": True, "backups": backups}} if backups else {}
    found = [line.removeprefix("SlurmctldHost=") for line in conf(**ha).splitlines() if "ctldHost" in line]
    assert found == hosts


ACCOUNTED = {"accountingRef": {"name": "slurm"}}


@pytest.mark.parametrize(
    ("spec", "observed", "storage"),
    [
        ({}, world(accounting=accounting()), ("none", None)),
        ({"accountingRef": {"name": ""}}, world(), ("none", None)),
        (ACCOUNTED, world(accounting=accounting()), ("slurmdbd", "slurm-accounting:6819")),
        (
            ACCOUNTED,
            world(accounting=accounting(service={"port": 7819})),
            ("slurmdbd", "slurm-accounting:7819"),
        ),
        (
            ACCOUNTED,
            world(accounting=accounting(external=True, externalConfig={"host": "dbd.org", "port": 1})),
            ("slurmdbd", "dbd.org:1"),
        ),
        (ACCOUNTED, world(), ("none", None)),
        (
            ACCOUNTED,
            world(slurm_conf="AccountingStorageHost=dbd.org\nAccountingStoragePort=1\n"),
            ("slurmdbd", "dbd.org:1"),
        ),
        ({}, world(slurm_conf="AccountingStorageHost=dbd.org\n"), ("none", None)),
    ],
    ids=[
        "not asked for",
        "no name",
        "ours",
        "ours at another port",
        "external",
        "not there yet",
        "gone for a moment",
        "no longer asked for",
    ],
)
def test_jobs_are_recorded_where_the_accounting_is(
    spec: dict[str, Any], observed: Observed, storage: tuple[str, str | None]
) -> None:
    plugin, at = storage
    expected = [f"AccountingStorageType=accounting_storage/{plugin}"]
    if at:
        host, _, port = at.partition(":")
        expected += [f"AccountingStorageHost={host}", f"AccountingStoragePort={port}"]
    assert lines(conf(observed, **spec), "ACCOUNTING") == expected


def test_scripts_of_all_config_maps_are_sorted_prologs_first() -> None:
    observed = world(
        config_maps={"one": {"90.sh": "", "10.sh": ""}, "two": {"50.sh": ""}, "after": {"end.sh": ""}}
    )
    both, after = [{"name": "two"}, {"name": "one"}], [{"name": "after"}]
    text = conf(
        observed,
        prologScriptRefs=both,
        epilogScriptRefs=after,
        prologSlurmctldScriptRefs=after,
        epilogSlurmctldScriptRefs=both,
    )
    assert lines(text, "PROLOG & EPILOG") == ["Prolog=10.sh", "Prolog=50.sh", "Prolog=90.sh", "Epilog=end.sh"]
    assert lines(text, "SLURMCTLD PROLOG & EPILOG") == [
        "PrologSlurmctld=/etc/slurm/end.sh",
        "EpilogSlurmctld=/etc/slurm/10.sh",
        "EpilogSlurmctld=/etc/slurm/50.sh",
        "EpilogSlurmctld=/etc/slurm/90.sh",
    ]


def test_a_users_cgroup_conf_replaces_ours() -> None:
    refs = {"configFileRefs": [{"name": "extra"}]}
    own = config(controller(**refs), world(config_maps={"extra": {"gres.conf": ""}}))
    theirs = config(controller(**refs), world(config_maps={"extra": {"cgroup.conf": ""}}))
    assert own.files["cgroup.conf"] == "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"
    assert theirs.files.keys() == {"slurm.conf"}


def test_metrics_are_offered_on_demand() -> None:
    assert "MetricsType" not in conf()
    assert "MetricsType=metrics/openmetrics" in conf(metrics={"enabled": True}).splitlines()


def test_extra_conf_comes_as_it_is_and_takes_none_of_our_options_away() -> None:
    extra = "# mine\nSlurmctldParameters=Idle_on_node_suspend\nauthinfo=ttl=5\nMinJobAge=2"
    text = conf(extraConf=extra)
    assert lines(text, "EXTRA CONFIG") == extra.splitlines()
    assert lines(text, "MERGED CONFIG") == [
        "AuthInfo=ttl=5,use_client_ids",
        "SlurmctldParameters=enable_configless,idle_on_node_suspend,reconfig_on_restart",
    ]


@pytest.mark.parametrize(
    ("nodesets", "before", "room"),
    [
        ((), "", 1024),
        ((nodeset("a", replicas=1024),), "", 1024),
        ((nodeset("a", replicas=1000), nodeset("b", replicas=500)), "", 2048),
        ((nodeset("a", replicas=2),), "MaxNodeCount=2048\n", 2048),
        ((nodeset("a", replicas=5000, scalingMode="DaemonSet"),), "", 1024),
        ((), "MaxNodeCount=1024\n#\n### EXTRA CONFIG ###\nMaxNodeCount=9999\n", 1024),
    ],
)
def test_there_is_room_for_all_nodes_and_it_does_not_shrink(
    nodesets: tuple[NodeSet, ...], before: str, room: int
) -> None:
    text = conf(world(nodesets=nodesets, slurm_conf=before))
    assert f"MaxNodeCount={room}" in text.splitlines()


@pytest.mark.parametrize("jobs", [None, frozenset({"old"}), frozenset()])
@pytest.mark.parametrize(
    "extra",
    [
        "",
        "MaxNodeCount=9999\nAccountingStorageHost=elsewhere",
        "PartitionName=DEFAULT State=UP\nPartitionName=all Nodes=ALL Default=YES",
        "NodeSet=big Feature=a\nPartitionName=big \\\n  Nodes=big",
    ],
)
def test_what_is_in_force_is_written_again_and_again(extra: str, jobs: frozenset[str] | None) -> None:
    before = "NodeSet=old Feature=old\nPartitionName=old Nodes=old State=UP\nAccountingStorageHost=dbd\n"
    observed = world(nodesets=(nodeset("gpu", replicas=3000),), slurm_conf=before, job_partitions=jobs)
    first = conf(observed, extraConf=extra, **ACCOUNTED)
    assert conf(replace(observed, slurm_conf=first), extraConf=extra, **ACCOUNTED) == first


@pytest.mark.parametrize("name", ["a b", "a\nAuthType=auth/none", "../../etc", "a\\", "#", "-"])
def test_a_cluster_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(TextError, match=r"^clusterName must be"):
        config(controller(clusterName=name), world())


words = st.text(max_size=30)


def odd_nodeset(name: str, hostname: str, options: str) -> NodeSet:
    """A NodeSet as no webhook would let it pass."""
    plain = nodeset("gpu")
    partition = plain.spec.partition.model_copy(update={"enabled": True, "config": options})
    template = plain.spec.template.model_copy(update={"spec": {"hostname": hostname}})
    spec = plain.spec.model_copy(update={"partition": partition, "template": template})
    metadata = plain.metadata.model_copy(update={"name": name})
    return plain.model_copy(update={"spec": spec, "metadata": metadata})


def dbd(host: str) -> Accounting:
    return accounting(external=True, externalConfig={"host": host, "port": 1})


@given(cluster=words, host=words, hostname=words, options=words, name=words)
def test_no_field_of_any_object_adds_a_line_or_a_key(
    cluster: str, host: str, hostname: str, options: str, name: str
) -> None:
    spec = {**ACCOUNTED, "clusterName": cluster}
    observed = world(accounting=dbd(host), nodesets=(odd_nodeset(name, hostname, options), nodeset("zzz")))
    try:
        found = [pairs[0][0] for pairs in read(conf(observed, **spec))]
    except TextError:
        return
    usual = [pairs[0][0] for pairs in read(conf(world(accounting=dbd("h")), **ACCOUNTED))]
    assert [key for key in found if key not in {"NodeSet", "PartitionName"}] == usual
    assert found.count("NodeSet") <= 2
    assert found.count("PartitionName") <= 1


def test_what_was_left_out_is_told() -> None:
    written = config(controller(), world(nodesets=(nodeset("default"), nodeset("gpu"))))
    assert lines(written.files["slurm.conf"], "NODESET & PARTITION") == ["NodeSet=gpu Feature=gpu"]
    assert [problem.reason for problem in written.problems] == ["NodeSetRefused"]


def test_who_only_talks_to_slurmctld_does_not_mind_nodesets_and_scripts() -> None:
    plain = config(controller(), world()).files["slurm.conf"]
    files = {"scripts": {"prolog.sh": ""}}
    many = tuple(nodeset(f"n{number}", replicas=1000, partition={"enabled": True}) for number in range(3))
    full = controller(prologScriptRefs=[{"name": "scripts"}], prologSlurmctldScriptRefs=[{"name": "scripts"}])
    grown = config(full, world(nodesets=many, config_maps=files)).files["slurm.conf"]
    assert plain != grown
    assert for_clients(plain) == for_clients(grown)
    moved = config(controller(extraConf="AuthInfo=ttl=60"), world()).files["slurm.conf"]
    assert for_clients(plain) != for_clients(moved)

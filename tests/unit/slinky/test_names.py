"""The contract's names, spelled out: a typo here is somebody's broken selector."""

import pytest

from slurmery.slinky import names

LABEL = "app.kubernetes.io/"


@pytest.mark.parametrize(
    ("daemon", "name", "component", "port"),
    [
        (names.SLURMCTLD, "slurmctld", "controller", 6817),
        (names.SLURMD, "slurmd", "worker", 6818),
        (names.SLURMDBD, "slurmdbd", "accounting", 6819),
        (names.SLURMRESTD, "slurmrestd", "restapi", 6820),
        (names.LOGIN, "login", "login", 22),
    ],
)
def test_labels_are_name_instance_and_component(
    daemon: names.Daemon, name: str, component: str, port: int
) -> None:
    selector = {LABEL + "name": name, LABEL + "instance": "blue"}
    assert names.selector(daemon, "blue") == selector
    assert names.labels(daemon, "blue") == {**selector, LABEL + "component": component}
    assert daemon.port == port


def test_workers_are_also_labelled_with_their_cluster() -> None:
    cluster = {"slinky.slurm.net/cluster": "slurm"}
    assert names.worker_labels("gpu", "slurm") == names.labels(names.SLURMD, "gpu") | cluster
    assert names.cluster_worker_selector("slurm") == {LABEL + "name": "slurmd", **cluster}


def test_objects_have_the_names_of_the_contract() -> None:
    assert [
        names.controller("slurm"),
        names.controller_internal("slurm"),
        names.controller_pod("slurm", 1),
        names.controller_config("slurm"),
        names.accounting("slurm"),
        names.restapi("slurm"),
        names.ssh_config("login"),
        names.ssh_host_keys("login"),
        names.workers("slurm"),
        names.workers_pdb("slurm"),
        names.token_secret("tok", "foo"),
        names.reservation("gpu"),
        names.in_namespace("slurm-controller", "ns"),
        names.worker_search("slurm", "ns", "cluster.local"),
        names.statesave("blue"),
    ] == [
        "slurm-controller",
        "slurm-controller-internal",
        "slurm-controller-1",
        "slurm-config",
        "slurm-accounting",
        "slurm-restapi",
        "login-ssh-config",
        "login-ssh-host-keys",
        "slurm-workers-slurm",
        "slurm-workers-pdb-slurm",
        "tok-jwt-foo",
        "SlurmOperatorMaint-gpu",
        "slurm-controller.ns",
        "slurm-workers-slurm.ns.svc.cluster.local",
        "/var/spool/slurmctld/blue",
    ]


@pytest.mark.parametrize(
    ("hostname", "name"),
    [("", "cr"), ("gpu", "gpu"), ("gpu-", "gpu"), ("-gpu-", "gpu"), ("gpu Nodes=ALL", "gpu"), ("-", "cr")],
)
def test_slurm_calls_a_nodeset_by_the_stem_of_its_host_names(hostname: str, name: str) -> None:
    assert names.slurm_nodeset("cr", hostname) == name

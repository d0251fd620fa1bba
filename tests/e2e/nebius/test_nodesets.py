"""A SlurmCluster whose workers are NodeSets: static ones, and ones that come and go with the jobs."""

from tests.e2e.nebius.lab import SECONDS, Slurm, labelled


def test_static_nodes_are_in_the_partitions_that_name_them(tide: Slurm) -> None:
    assert sorted(tide.run("srun", "-N2", "hostname").split()) == ["steady-0", "steady-1"]
    assert set(tide.states("surge")) == {"surge-0", "surge-1"}
    assert set(tide.states("all")) == {"steady-0", "steady-1", "surge-0", "surge-1"}


def test_ephemeral_nodes_come_from_nothing_when_a_job_needs_them_and_go_when_it_is_done(tide: Slurm) -> None:
    others = {name: uid for name, uid in tide.pods().items() if not name.startswith("surge-")}
    assert not surge(tide)
    said = tide.run("srun", "-p", "surge", "-N2", "sh", "-c", "hostname; cut -d. -f1 /proc/uptime")
    words = said.split()
    assert {word for word in words if word.startswith("surge-")} == {"surge-0", "surge-1"}
    # They are as old as their pods, whatever machine those run on.
    assert max(int(word) for word in words if word.isdigit()) < SECONDS
    tide.wait("they are gone", lambda: not surge(tide))
    tide.wait("that is known", lambda: tide.get("nodesetpowerstate", "surge")["status"]["activeCount"] == 0)
    assert not tide.get("nodesetpowerstate", "surge")["spec"].get("activeNodes")
    assert {name: uid for name, uid in tide.pods().items() if name in others} == others


def test_blocks_are_made_of_node_labels(tide: Slurm) -> None:
    names = {"node-0": "block-0", "node-1": "block-1"}
    with labelled(tide.kube, {node: {0: block} for node, block in names.items()}):
        tide.wait("Slurm knows the blocks", lambda: "BlockName=block-1" in tide.topology())
        told = tide.run("srun", "-N2", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR").split()
        hosts = {f"steady-{n}": tide.host(f"steady-{n}") for n in (0, 1)}
        assert set(told) == {f"{names[host]}.{worker}" for worker, host in hosts.items()}


def surge(tide: Slurm) -> set[str]:
    return {name for name in tide.pods() if name.startswith("surge-")}

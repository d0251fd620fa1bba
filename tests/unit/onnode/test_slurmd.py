"""How a worker is started, from what its pod says about it."""

from collections.abc import Sequence

from slurmery.onnode.slurmd import arguments, conf

POD = {"K8S_SERVICE_NAME": "fjord-worker-svc", "INSTANCE_ID": "node-a", "SLURM_REAL_MEMORY": "512"}


def _hosts(hostlist: str) -> Sequence[str]:
    return hostlist.split(",")


def test_a_worker_tells_slurm_about_itself() -> None:
    described = conf(POD, "worker-1", "worker-1.fjord-worker-svc", (), _hosts)
    assert described == "NodeHostname=worker-1 NodeAddr=worker-1.fjord-worker-svc RealMemory=512"
    assert arguments(POD, described) == [
        *("slurmd", "-D", "--instance-id", "node-a"),
        *("-Z", "--conf", described),
    ]


def test_a_worker_that_slurm_conf_names_says_nothing() -> None:
    assert arguments({"INSTANCE_ID": "node-a"}, "") == ["slurmd", "-D", "--instance-id", "node-a"]


def test_gpus_are_counted_by_their_model() -> None:
    models = ("NVIDIA H200", "NVIDIA H200", "Tesla T4")
    assert "Gres=gpu:nvidia_h200:2,gpu:tesla_t4:1" in conf(POD, "w", "w", models, _hosts)


def test_a_worker_has_the_features_whose_hostlist_it_is_in() -> None:
    features = {
        "SLURM_FEATURE_fast-disk": "worker-0,worker-1",
        "SLURM_FEATURE_big": "worker-0",
        "SLURM_FEATURE_a": "worker-1",
    }
    assert conf({**POD, **features}, "worker-1", "w", (), _hosts).endswith(" Feature=a,fast-disk")


def test_extra_may_use_variables_and_evaluates_nothing() -> None:
    extra = '{"host": "${INSTANCE_ID}", "bait": "$(id) `id` $UNKNOWN"}'
    command = arguments({**POD, "SLURM_NODE_EXTRA": extra}, "")
    assert command[command.index("--extra") + 1] == ('{"host": "node-a", "bait": "$(id) `id` $UNKNOWN"}')

"""slurmd gets exactly the words the operator meant; no value becomes a command, an argument or a key."""

import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.images.container import Container

SLURMD = "slurm/entrypoint/slurmd"
CONF = """'Features=a Topology='"$SLINKY_TOPOLOGY"''"""
words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
repeatedly = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def daemons(container: Container) -> None:
    container.stub("slurmd")


def start(container: Container, *arguments: str, **env: str) -> list[str]:
    outcome = container.run(SLURMD, *arguments, env=env)
    assert outcome.status == 0, outcome.output
    return container.arguments("slurmd")


def test_the_operators_arguments_lose_their_quotes(container: Container) -> None:
    given = ["-Z", "--conf-server", "slurm-controller.slurm:6817", "--conf", CONF, "-vv"]

    assert start(container, *given, SLINKY_TOPOLOGY="topo-switch:s2,topo-block:b2") == [
        "-D",
        "-Z",
        "--conf-server",
        "slurm-controller.slurm:6817",
        "--conf",
        "Features=a Topology=topo-switch:s2,topo-block:b2",
        "-vv",
    ]


@pytest.mark.parametrize("env", [{}, {"SLINKY_TOPOLOGY": ""}], ids=["unset", "empty"])
def test_a_node_without_topology_says_nothing_of_it(container: Container, env: dict[str, str]) -> None:
    """`Topology= Weight=1` would put the node into the topology "Weight=1"."""
    conf = """'Features=a Topology='"$SLINKY_TOPOLOGY"' Weight=1'"""

    assert start(container, "-Z", "--conf", conf, **env)[-1].split() == ["Features=a", "Weight=1"]


@pytest.mark.parametrize(
    "topology",
    [
        "$(touch {proof})",
        "`touch {proof}`",
        "'; touch {proof}; '",
        '"; touch {proof}; "',
        "default:s1 Gres=gpu:8",
        "default:s1\nGres=gpu:8",
        "s1 -N other",
        "*",
        "$HOME",
    ],
)
def test_a_hostile_topology_is_ignored_and_reported(
    container: Container, tmp_path: Path, topology: str
) -> None:
    proof = tmp_path / "injected"
    outcome = container.run(
        SLURMD, "-Z", "--conf", CONF, env={"SLINKY_TOPOLOGY": topology.format(proof=proof)}
    )

    assert container.arguments("slurmd") == ["-D", "-Z", "--conf", "Features=a "]
    assert "ignored" in outcome.output
    assert not proof.exists()


@pytest.mark.parametrize(
    "argument",
    [
        "$(touch {proof})",
        "`touch {proof}`",
        '"$(touch {proof})"',
        "'$(touch {proof})'",
        "; touch {proof}",
        "a & b",
        "$HOME",
        "*",
        "a b",
        "\\",
    ],
)
def test_arguments_are_never_evaluated(container: Container, tmp_path: Path, argument: str) -> None:
    proof = tmp_path / "injected"
    argument = argument.format(proof=proof)

    assert start(container, argument) == ["-D", argument.strip("'\"")]
    assert not proof.exists()


@repeatedly
@given(st.lists(words, max_size=20))
def test_what_a_shell_would_unquote_comes_out_whole(container: Container, arguments: list[str]) -> None:
    assert start(container, *map(shlex.quote, arguments)) == ["-D", *arguments]


@repeatedly
@given(st.lists(words.filter(lambda text: not set(text) & set("'\"")), max_size=20))
def test_words_without_quotes_are_left_alone(container: Container, arguments: list[str]) -> None:
    assert start(container, *arguments) == ["-D", *arguments]


def test_the_pods_limits_are_the_nodes_size(container: Container) -> None:
    conf = start(container, "-Z", "--conf", "'Features=a'", POD_CPUS="4", POD_MEMORY="2048")[-1]

    assert conf == "Features=a CPUs=4 RealMemory=2048"
    assert start(container, "--conf='Features=a'", POD_CPUS="4")[-1] == "--conf=Features=a CPUs=4"


@pytest.mark.parametrize(
    ("conf", "size"),
    [
        ("Cpus=2", "Cpus=2 RealMemory=2048"),
        ("Realmemory=100", "Realmemory=100 CPUs=4"),
        ("Sockets=1 Corespersocket=2 RealMemory=1", "Sockets=1 Corespersocket=2 RealMemory=1"),
    ],
)
def test_the_users_size_wins(container: Container, conf: str, size: str) -> None:
    assert start(container, "--conf", f"'{conf}'", POD_CPUS="4", POD_MEMORY="2048")[-1] == size


@pytest.mark.parametrize("limit", ["0", "", "4 Gres=gpu:8", "many"])
def test_without_a_limit_slurmd_counts_for_itself(container: Container, limit: str) -> None:
    assert start(container, "--conf", "'Features=a'", POD_CPUS=limit, POD_MEMORY=limit)[-1] == "Features=a"


def test_sshd_runs_only_where_it_is_configured(container: Container) -> None:
    container.stub("ssh-keygen")
    container.stub("sshd")
    container.stub("slurmd", body="sleep 0.3")

    container.run(SLURMD, setup="rm -rf /etc/ssh")
    assert not container.started("sshd")
    container.run(SLURMD, setup="mkdir -p /etc/ssh; touch /etc/ssh/sshd_config")
    assert container.arguments("sshd") == ["-D", "-e"]

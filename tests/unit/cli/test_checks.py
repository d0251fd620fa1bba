from pathlib import Path

import pytest

from slurmery.cli.flags import read
from slurmery.cli.programs.checks import _wired, policy
from slurmery.cli.settings.checks import ChecksSettings
from slurmery.health.repair.policy import Policy, Response
from slurmery.kube.client import Client
from slurmery.kube.config import Config
from slurmery.kube.errors import ConfigError
from slurmery.kube.runtime import Listen, Runtime


def test_flags_and_file_make_the_policy(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("conditions: {KernelDeadlock: reboot}\nbudget: 4\n")
    settings = ChecksSettings(
        maintenance_condition_type=("CloudSaysGo",),
        maintenance_ignore_node_labels=(("pool", "debug"),),
        enable_node_replacement=False,
        delete_not_ready_nodes=False,
        repair_budget=2,
        policy=file,
    )
    made = policy(settings)
    assert made.conditions == {
        "CloudSaysGo": Response.REPLACE,
        "HardwareIssuesSuspected": Response.REPLACE,
        "KernelDeadlock": Response.REBOOT,
    }
    assert (made.replaces, made.deletes_not_ready, made.budget) == (False, False, 4)
    assert made.spared == {"pool": "debug"}
    assert made.not_ready_seconds == 900


@pytest.mark.parametrize("text", [None, "budget: 0"])
def test_a_file_that_is_missing_or_no_policy_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "policy.yaml"
    if text:
        file.write_text(text)
    with pytest.raises(ConfigError, match=f"--policy {file}: "):
        policy(ChecksSettings(policy=file))


@pytest.mark.parametrize(
    ("switches", "there"),
    [
        ("", {"slurmapiclients", "slinkyapiclients", "k8snodes", "activecheck", "podephemeralstoragecheck"}),
        ("slurmapiclients", {"slurmapiclients", "slinkyapiclients"}),
        ("slurmnodes", {"k8snodes"}),
        ("k8snodes", {"k8snodes"}),
        ("activecheck", {"activecheck"}),
        ("*,-slurmapiclients,-activecheck", {"k8snodes", "podephemeralstoragecheck"}),
        ("*,-slurmnodes,-k8snodes,-podephemeralstoragecheck,-slurmapiclients", {"activecheck"}),
        ("activecheckjob,serviceaccount,activecheckprolog", set()),
    ],
)
async def test_every_controller_can_be_switched(switches: str, there: set[str]) -> None:
    given = (f"--controllers={switches}",) if switches else ()
    settings = read(ChecksSettings, given, {}).settings
    runtime = Runtime(Client(Config("https://127.0.0.1:1")), "test", Listen())
    async with _wired(settings, Policy(), runtime):
        assert {controller.name for controller in runtime._controllers} == there

import pytest

from slurmery.health.repair.policy import Policy, Response
from slurmery.health.repair.policyfile import PolicyError, laid_over


def test_a_file_adds_to_the_defaults_and_overrides_them() -> None:
    text = """
    conditions: {KernelDeadlock: reboot, GpuUnhealthy: replace, MaintenanceScheduled: ignore}
    reasons: {"[gpu]": replace}
    budget: 3
    """
    policy = laid_over(Policy(), text)
    assert policy.conditions["KernelDeadlock"] is Response.REBOOT
    assert policy.conditions["MaintenanceScheduled"] is Response.IGNORE
    assert policy.conditions["HardwareIssuesSuspected"] is Response.REPLACE
    assert policy.of_reason("[gpu] fell off the bus") is Response.REPLACE
    assert policy.of_reason("Kill task failed") is Response.REBOOT
    assert policy.budget == 3


def test_reasons_of_the_file_are_looked_for_first() -> None:
    policy = laid_over(Policy(), '{"reasons": {"[node_problem] disk": "ignore"}}')
    assert policy.of_reason("[node_problem] disk: slow") is Response.IGNORE
    assert policy.of_reason("[node_problem] gpu: gone") is Response.REPLACE


def test_an_empty_file_changes_nothing() -> None:
    assert laid_over(Policy(), "# nothing yet") == Policy()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("conditions: {KernelDeadlock: explode}", "conditions.KernelDeadlock: must be one of ignore, drain"),
        ("conditions: {SlurmNodeDrain: drain}", "conditions.SlurmNodeDrain: this condition has a meaning"),
        ("conditions: {Ready=False: replace}", "conditions.Ready=False: this condition has a meaning"),
        ("conditions: {KernelReady=no: drain}", "conditions.KernelReady=no: what follows = must be True"),
        ("conditions: [KernelDeadlock]", "conditions: must map names"),
        ('reasons: {"[gpu]": drain}', r"reasons.\[gpu\]: must be one of ignore, reboot, replace"),
        ("budget: 0", "budget: must be a whole number of at least 1"),
        ("budget: yes", "budget: must be a whole number"),
        ("budgets: 1", "budgets: there is no such key; there are conditions, reasons, budget"),
        ("- 1", "the file: must map names"),
        ("a: [", "neither YAML nor JSON"),
    ],
)
def test_errors_name_the_key(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        laid_over(Policy(), text)

"""Verdicts on the kinds of slinky.slurm.net beyond their schemas."""

import pytest

from slurmery.admission.lookups import Answer, Unreadable, Want
from slurmery.kube.resources import PERSISTENT_VOLUME_CLAIMS
from tests.unit.admission.reviews import KEY, REF, controller, everything, holding, on, seen

FORBIDDEN = Unreadable("403 Forbidden: no")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "ConfigMap files does not exist"),
        (FORBIDDEN, "ConfigMap files cannot be read: 403 Forbidden: no"),
        (holding("slurm.conf"), "ConfigMap files must not have the key slurm.conf"),
        (holding("slurmdbd.conf"), "ConfigMap files must not have the key slurmdbd.conf"),
    ],
)
def test_a_configuration_file_must_be_there_and_not_be_generated(answer: Answer, words: str) -> None:
    verdict = controller(
        lambda want: answer if want.key.name == "files" else everything(want),
        configFileRefs=[{"name": "files"}],
    )

    assert not verdict.allowed
    assert words in verdict.message
    assert [problem.path for problem in verdict.problems] == ["spec.configFileRefs[0]"]


def test_a_configuration_file_without_a_name_is_refused() -> None:
    assert "spec.configFileRefs[0]: must name a ConfigMap" in controller(configFileRefs=[{}]).message


HA = {"ha": {"enabled": True}, "persistence": {"existingClaim": "state"}}


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (None, True),
        (FORBIDDEN, False),
        (seen(spec={"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}), True),
        (seen(spec={"accessModes": ["ReadWriteOnce"]}), False),
        (seen(spec={}), False),
    ],
)
def test_standbys_need_a_volume_that_they_can_share(answer: Answer, allowed: bool) -> None:
    def known(want: Want) -> Answer:
        return answer if want.resource == PERSISTENT_VOLUME_CLAIMS else everything(want)

    assert controller(known, **HA).allowed is allowed


def test_fields_without_effect_are_warned_of() -> None:
    daemons = on("NodeSet", **REF, scalingMode="DaemonSet", pinToNode=True, ordinalPadding=3)
    numbered = on("NodeSet", **REF, pruneSlurmNodeRecords="NodeNotFound")

    assert [warning.partition(":")[0] for warning in daemons.warnings] == [
        "spec.pinToNode",
        "spec.ordinalPadding",
    ]
    assert [warning.partition(":")[0] for warning in numbered.warnings] == ["spec.pruneSlurmNodeRecords"]


def test_a_token_whose_secret_cannot_be_named_is_warned_of() -> None:
    assert on("Token", jwtKeyRef=KEY, username="Ada").warnings
    assert not on("Token", jwtKeyRef=KEY, username="Ada", secretRef=KEY).warnings

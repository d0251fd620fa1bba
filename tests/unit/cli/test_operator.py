"""What the operator makes of its settings."""

import pytest

from slurmery.cli.programs import operator
from slurmery.cli.settings.operator import OperatorSettings
from slurmery.kube.resources import POD_MONITORS, SERVICE_MONITORS
from slurmery.nebius.kinds import APP_ARMOR_PROFILES, DATABASES, GRANTS, MARIADBS


@pytest.mark.parametrize(
    ("settings", "ignored"),
    [
        (OperatorSettings(), set()),
        (OperatorSettings(prometheus_crds=True, mariadb_crds=True, apparmor_crds=True), set()),
        (OperatorSettings(prometheus_crds=False), {POD_MONITORS, SERVICE_MONITORS}),
        (OperatorSettings(mariadb_crds=False), {MARIADBS, GRANTS, DATABASES}),
        (OperatorSettings(apparmor_crds=False), {APP_ARMOR_PROFILES}),
    ],
)
def test_what_an_administrator_says_is_missing_is_not_looked_for(
    settings: OperatorSettings, ignored: set[object]
) -> None:
    assert set(operator._unserved(settings)) == ignored

"""What the operator makes of its settings."""

import pytest

from slurmery.cli.programs import operator
from slurmery.cli.settings.operator import OperatorSettings
from slurmery.nebius import names


@pytest.mark.parametrize(
    ("settings", "ignored"),
    [
        (OperatorSettings(), set()),
        (OperatorSettings(prometheus_crds=True, mariadb_crds=True, apparmor_crds=True), set()),
        (OperatorSettings(prometheus_crds=False), {names.POD_MONITORS, names.SERVICE_MONITORS}),
        (OperatorSettings(mariadb_crds=False), {names.MARIADBS, names.GRANTS, names.DATABASES}),
        (OperatorSettings(apparmor_crds=False), {names.APP_ARMOR_PROFILES}),
    ],
)
def test_what_an_administrator_says_is_missing_is_not_looked_for(
    settings: OperatorSettings, ignored: set[object]
) -> None:
    assert set(operator._unserved(settings)) == ignored

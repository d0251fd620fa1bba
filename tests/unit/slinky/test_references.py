"""A changed object finds its users."""

from typing import Any

import pytest

from slurmery.doors.views import Custom
from slurmery.kube.meta import Key, ObjectMeta, Resource
from slurmery.kube.resources import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS
from slurmery.slinky.kinds import ACCOUNTINGS, CONTROLLERS
from slurmery.slinky.references import uses

KEY = {"name": "keys", "key": "k"}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"slurmKeyRef": KEY, "jwtKeyRef": KEY}, {(SECRETS, "keys")}),
        ({"jwtHs256KeyRef": KEY}, {(SECRETS, "keys")}),
        ({"sssdConfRef": KEY, "controllerRef": {"name": "c"}}, {(SECRETS, "keys"), (CONTROLLERS, "c")}),
        ({"storageConfig": {"passwordKeyRef": {"name": "db", "key": "p"}}}, {(SECRETS, "db")}),
        ({"accountingRef": {"name": "a"}, "jwksKeyRef": KEY}, {(ACCOUNTINGS, "a"), (CONFIG_MAPS, "keys")}),
        ({"configFileRefs": [{"name": "x"}, {"name": "y"}]}, {(CONFIG_MAPS, "x"), (CONFIG_MAPS, "y")}),
        ({"persistence": {"existingClaim": "state"}}, {(PERSISTENT_VOLUME_CLAIMS, "state")}),
        ({"configFileRefs": None, "persistence": None, "accountingRef": {}, "storageConfig": None}, set()),
    ],
)
def test_everything_that_a_spec_names_is_found(
    spec: dict[str, Any], found: set[tuple[Resource, str]]
) -> None:
    view = Custom(ObjectMeta(name="x", namespace="ns"), spec)
    assert set(uses(view)) == {(resource, Key("ns", name)) for resource, name in found}

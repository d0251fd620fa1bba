"""Objects that other objects name."""

from slurmery.admission.lookups import Unreadable
from slurmery.admission.review import Verdict
from tests.unit.admission.reviews import KEY, REF, controller, everything, holding, nothing, on


def test_missing_objects_are_warned_of_each_with_its_field() -> None:
    verdict = controller(
        nothing, accountingRef={"name": "a"}, prologScriptRefs=[{"name": "p"}, {"name": "q"}]
    )

    assert verdict.allowed
    assert verdict.warnings == (
        "spec.slurmKeyRef: Secret keys does not exist yet",
        "spec.jwtKeyRef: Secret keys does not exist yet",
        "spec.accountingRef: Accounting a does not exist yet",
        "spec.prologScriptRefs[0]: ConfigMap p does not exist yet",
        "spec.prologScriptRefs[1]: ConfigMap q does not exist yet",
    )


def test_missing_keys_are_warned_of() -> None:
    verdict = controller(lambda _: holding("other"))

    assert verdict.warnings[0] == "spec.slurmKeyRef: Secret keys has no key key yet"


def test_what_may_be_missing_is_not_looked_for() -> None:
    optional = {**KEY, "optional": True}
    assert on("Controller", nothing, slurmKeyRef=optional, jwtKeyRef=optional) == Verdict.on([])
    assert on("NodeSet", everything, **REF, ssh={"enabled": False, "sssdConfRef": KEY}).warnings == ()


def test_what_cannot_be_read_is_warned_of() -> None:
    verdict = on("RestApi", lambda _: Unreadable("403 Forbidden: no"), **REF)

    assert verdict.allowed
    assert verdict.warnings == (
        "spec.controllerRef: Controller slurm could not be checked: 403 Forbidden: no",
    )

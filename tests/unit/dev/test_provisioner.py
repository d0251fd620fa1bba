from typing import Any

from dev import provisioner


def claim(name: str, **spec: Any) -> dict[str, Any]:
    wish = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": provisioner.CLASS,
    }
    return {"metadata": {"name": name, "namespace": "slurm", "uid": f"uid-{name}"}, "spec": wish | spec}


def test_a_waiting_claim_gets_a_volume_of_its_own() -> None:
    (volume,) = provisioner.wanted([claim("home")], [])

    assert volume["metadata"]["name"] == "pvc-uid-home"
    assert volume["spec"]["claimRef"]["uid"] == "uid-home"
    assert volume["spec"]["accessModes"] == ["ReadWriteMany"]


def test_nothing_is_made_twice() -> None:
    (volume,) = provisioner.wanted([claim("home")], [])

    assert list(provisioner.wanted([claim("home")], [volume])) == []


def test_bound_claims_and_foreign_classes_are_left_alone() -> None:
    claims = [claim("bound", volumeName="pv-7"), claim("foreign", storageClassName="fast")]

    assert list(provisioner.wanted(claims, [])) == []


def test_only_our_released_volumes_go() -> None:
    def volume(name: str, phase: str, storage_class: str) -> dict[str, Any]:
        return {
            "metadata": {"name": name},
            "spec": {"storageClassName": storage_class},
            "status": {"phase": phase},
        }

    volumes = [
        volume("ours", "Released", provisioner.CLASS),
        volume("in-use", "Bound", provisioner.CLASS),
        volume("theirs", "Released", "fast"),
    ]
    assert list(provisioner.released(volumes)) == ["ours"]

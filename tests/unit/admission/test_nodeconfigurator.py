"""Defaults of NodeConfigurators."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.admission.reviews import BY_PATH, creation, judged, manifest, patched

HOOK = BY_PATH["/mutate-slurm-nebius-ai-v1alpha1-nodeconfigurator"]
ON, OFF = {"enabled": True}, {"enabled": False}


def filled(spec: Any) -> Any:
    new = manifest("NodeConfigurator", spec, version="slurm.nebius.ai/v1alpha1")
    if spec is None:
        del new["spec"]
    return patched(new, judged(HOOK, creation(new)).patch).get("spec")


REBOOTER = {**ON, "name": "rebooter", "logFormat": "json"}
IMAGE = {"repository": "busybox", "tag": "latest"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, {"rebooter": REBOOTER}),
        ({"rebooter": ON}, {"rebooter": REBOOTER}),
        ({"rebooter": OFF}, {"rebooter": OFF}),
        (
            {"rebooter": {**ON, "name": "a", "logFormat": "plain"}},
            {"rebooter": {**ON, "name": "a", "logFormat": "plain"}},
        ),
        ({"customContainer": ON}, {"customContainer": {**ON, "name": "custom-container", "image": IMAGE}}),
        ({"nodeConfigurator": ON}, {"nodeConfigurator": {**ON, "name": "node-sysctl-sleep", "image": IMAGE}}),
        (
            {"customContainer": OFF, "nodeConfigurator": ON},
            {"customContainer": OFF, "nodeConfigurator": ON},
        ),
        ("nonsense", "nonsense"),
        ({"rebooter": []}, {"rebooter": []}),
    ],
)
def test_only_what_is_switched_on_and_unsaid_is_filled_in(spec: Any, expected: Any) -> None:
    assert filled(spec) == expected


@given(
    st.dictionaries(
        st.sampled_from(["rebooter", "customContainer", "nodeConfigurator"]),
        st.fixed_dictionaries(
            {"enabled": st.booleans()},
            optional={"name": st.text(), "logFormat": st.text(), "image": st.just({"repository": "r"})},
        ),
    )
)
def test_filling_in_once_is_enough(spec: Any) -> None:
    once = filled(spec)
    assert filled(once) == once

"""Which pods an eviction would rid a node of."""

from typing import Any

import msgspec
import pytest

from slurmery.agents.rebooter.views import Pod


def owned(kind: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "u", "controller": True}
    return {"metadata": {"ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("pod", "stays"),
    [
        ({}, False),
        (owned("StatefulSet"), False),
        (owned("DaemonSet"), True),
        ({"metadata": {"annotations": {"kubernetes.io/config.mirror": "hash"}}}, True),
        ({"status": {"phase": "Succeeded"}}, True),
        ({"status": {"phase": "Running"}}, False),
        ({"spec": {"tolerations": [{"operator": "Exists"}]}}, False),
    ],
)
def test_those_stay_who_would_come_back_or_have_ended(pod: dict[str, Any], stays: bool) -> None:
    assert msgspec.convert({"metadata": {}, **pod}, Pod).guest.stays is stays

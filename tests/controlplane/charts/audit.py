"""What somebody asked of the API server, as its audit log tells."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAMESPACE = "slurmery-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:slurmery"
WEBHOOK = f"system:serviceaccount:{NAMESPACE}:slurmery-webhook"

# A verb, a group, and a resource with its subresource.
Right = tuple[str, str, str]


def asked(log: Path, user: str) -> set[Right]:
    """What was asked and granted."""
    return {_right(event) for event in _of(log, user) if event["responseStatus"]["code"] != 403}


def refused(log: Path, user: str) -> set[Right]:
    """What was asked and forbidden."""
    return {_right(event) for event in _of(log, user) if event["responseStatus"]["code"] == 403}


def granted(objects: Iterable[dict[str, Any]], account: str) -> set[Right]:
    """All that the roles of the account allow, but for those of the Nebius door."""
    objects = list(objects)
    roles = {
        (each["roleRef"]["kind"], each["roleRef"]["name"])
        for each in objects
        if each["kind"].endswith("RoleBinding")
        and each["subjects"][0]["name"] == account.rpartition(":")[2]
        and not each["metadata"]["name"].endswith("-nebius")
    }
    return {
        (verb, group, resource)
        for each in objects
        if (each["kind"], each["metadata"]["name"]) in roles
        for rule in each["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def instead(used: set[Right]) -> set[Right]:
    """What is asked of servers that cannot stream a list into a watch, which this one can."""
    return {("list", group, resource) for verb, group, resource in used if verb == "watch"}


def _of(log: Path, user: str) -> list[dict[str, Any]]:
    events = map(json.loads, log.read_text().splitlines())
    return [
        event
        for event in events
        if event["user"]["username"] == user and "resource" in event.get("objectRef", {})
    ]


def _right(event: dict[str, Any]) -> Right:
    place = event["objectRef"]
    resource = "/".join(filter(None, (place["resource"], place.get("subresource"))))
    return event["verb"], place.get("apiGroup", ""), resource

"""What follows from how a check ended: pure, of the check, its result and the node as Slurm has it."""

from typing import NamedTuple

from .check import Check


class Node(NamedTuple):
    """A node as Slurm has it; `states` are upper-case words."""

    states: frozenset[str]
    reason: str = ""
    comment: str = ""


class Result(NamedTuple):
    """How a check ended, and what it wrote to file descriptor 3."""

    failed: bool
    details: str = ""


class Update(NamedTuple):
    """What to write to the node: a drain with a reason, a resume, or a comment."""

    state: str = ""
    reason: str = ""
    comment: str | None = None


def consequence(check: Check, result: Result, node: Node, context: str) -> Update | None:
    """None if the node stays as it is: a drain that is not ours is nobody's but its owner's."""
    if result.failed:
        text = reason(check, result.details, context)
        if check.on_fail == "drain" and "DRAIN" not in node.states:
            return Update(state="DRAIN", reason=text)
        if check.on_fail == "comment" and node.comment != text:
            return Update(comment=text)
        return None
    if check.on_ok == "undrain" and "DRAIN" in node.states and node.reason.startswith(check.base):
        return Update(state="RESUME")
    if check.on_ok == "uncomment" and node.comment.startswith(check.base):
        return Update(comment="")
    return None


def reason(check: Check, details: str, context: str) -> str:
    """The text by which people, and the repair loop, know what is wrong."""
    words = " ".join(details.split()) if check.reason_append_details else ""
    return f"{check.base}{': ' if words else ''}{words} [{context}]"


def after(node: Node, update: Update) -> Node:
    """The node once the update is written: what the next check must see."""
    if update.comment is not None:
        return node._replace(comment=update.comment)
    if update.state == "DRAIN":
        return node._replace(states=node.states | {"DRAIN"}, reason=update.reason)
    return node._replace(states=node.states - {"DRAIN"}, reason="")

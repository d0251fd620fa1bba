"""What the end of a job leads to for the nodes that it ran on, in words that machines read."""

from typing import Final, NamedTuple

from slurmery.api.nebius.activecheck import NODE_PROBLEM, ActiveCheckSpec, Reactions

_UNKNOWN_DRAIN: Final = "Soperator activecheck unknown: node drain process"


class Word(NamedTuple):
    """What is said about a node: why it is drained, a comment, and the prefix of the reservation that it gets
    or loses; "" says nothing."""

    drain: str = ""
    comment: str = ""
    reserve: str = ""
    release: str = ""


def on_failure(spec: ActiveCheckSpec, check: str, job_id: int) -> Word:
    """What a failed job says about its nodes."""
    legacy = spec.reactions
    if spec.failure_reactions or legacy is None:
        return _said(spec.failure_reactions, check, job_id)
    failure = f"Failed {check}: job {job_id} [slurm_job]"
    if legacy.set_condition:
        failure = f"{NODE_PROBLEM} {failure}"
    return Word(
        drain=(failure if legacy.set_condition else _UNKNOWN_DRAIN) if legacy.drain_slurm_node else "",
        comment=failure if legacy.comment_slurm_node else "",
    )


def on_success(spec: ActiveCheckSpec, check: str, job_id: int) -> Word:
    """What a passed job says about its nodes."""
    return _said(spec.success_reactions, check, job_id)


def _said(given: Reactions | None, check: str, job_id: int) -> Word:
    drain = given.drain_slurm_node.drain_reason_prefix if given and given.drain_slurm_node else ""
    comment = given.comment_slurm_node.comment_prefix if given and given.comment_slurm_node else ""
    text = f"{check}: job {job_id} [slurm_job]"
    return Word(
        f"{drain} {text}" if drain else "",
        f"{comment} {text}" if comment else "",
        given.add_reservation.prefix if given and given.add_reservation else "",
        given.remove_reservation.prefix if given and given.remove_reservation else "",
    )


def reserves(spec: ActiveCheckSpec) -> bool:
    """Whether the check has to do with reservations."""
    return bool(quarantine(spec, ""))


def quarantine(spec: ActiveCheckSpec, node: str) -> frozenset[str]:
    """The reservations by which the check knows a node that only checks may use."""
    words = (on_failure(spec, "", 0), on_success(spec, "", 0))
    prefixes = {prefix for word in words for prefix in (word.reserve, word.release) if prefix}
    return frozenset(reservation(prefix, node) for prefix in prefixes)


def reservation(prefix: str, node: str) -> str:
    """The name of the reservation of one node."""
    return f"{prefix}-{node}"

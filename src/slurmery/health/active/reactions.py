"""What the end of a job leads to for the nodes that it ran on, in words that machines read."""

from typing import Final, NamedTuple

from slurmery.api.nebius.activecheck import NODE_PROBLEM, ActiveCheckSpec, Reactions

_UNKNOWN_DRAIN: Final = "Soperator activecheck unknown: node drain process"


class Word(NamedTuple):
    """What is said about a node: why it is drained, and a comment; "" says nothing."""

    drain: str = ""
    comment: str = ""


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
    return Word(f"{drain} {text}" if drain else "", f"{comment} {text}" if comment else "")

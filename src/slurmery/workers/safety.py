"""May this pod be deleted? The one place that says yes.

Unknown is busy. A yes needs either a pod in which slurmd cannot be running, a person who said so, or a fresh
answer in which Slurm has drained the node: only then can no job be on it and none arrive between the answer
and the deletion.
"""

from slurmery.workers.model import Worker


def objection(worker: Worker) -> str | None:
    """Why the pod must stay for now, as the end of a sentence; None if it may go."""
    if worker.forced or worker.ended or (worker.phase == "Pending" and not worker.registered_once):
        return None
    if not worker.fresh:
        return "Slurm has not answered recently, so its jobs are unknown"
    if worker.slurm is None:
        # A slurmctld that lost its state knows no nodes, yet their jobs go on until they register again.
        known = worker.registered_once or worker.ready
        return "Slurm does not know it, and jobs from before may still run" if known else None
    if worker.slurm.is_busy:
        return "it has running jobs"
    if not worker.slurm.is_drained:
        return "it is being drained"
    return None

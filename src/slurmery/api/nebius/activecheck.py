"""ActiveCheck: a job that proves from time to time that a cluster, or each of its nodes, is healthy.

1.22 says what a failure leads to in `reactions`, 5.0 in `failureReactions`; `on_failure` reads either.
"""

from typing import Annotated, Literal

from pydantic import Field

from slurmery.api.fields import Int32, Int64, Items, StringMap, Time, absent
from slurmery.api.nebius.containers import PullPolicy
from slurmery.api.nebius.kubernetes import (
    Affinity,
    EnvVar,
    LocalObjectReference,
    Toleration,
    Volume,
    VolumeMount,
)
from slurmery.api.nebius.statusmetadata import StatusMetadata
from slurmery.api.resource import AGE, Column, CustomResource, Model

NODE_PROBLEM = "[node_problem]"
UNKNOWN_PROBLEM = "Soperator activecheck unknown"


class CheckContainer(Model):
    """A container of the check's pod."""

    image: str = absent("")
    """Image to run, with its tag or digest."""
    image_pull_policy: PullPolicy = "IfNotPresent"
    """When the kubelet pulls the image (5.0)."""
    image_pull_secrets: Items[LocalObjectReference] = absent(())
    """Secrets with which the image is pulled (5.0)."""
    command: Items[str] = absent(())
    """Replaces the entrypoint of the image."""
    args: Items[str] = absent(())
    """Replaces the arguments of the image."""
    working_dir: str = absent("")
    """Directory that the container starts in (5.0)."""
    env: Items[EnvVar] = absent(())
    """Environment variables of the container."""
    volume_mounts: Items[VolumeMount] = absent(())
    """Where volumes are mounted."""
    volumes: Items[Volume] = absent(())
    """Volumes that the pod gets for this container."""
    app_armor_profile: str = "unconfined"
    """AppArmor profile to run under."""


class KubernetesJobSpec(Model):
    """A check that is a pod of its own."""

    job_container: CheckContainer | None = None
    """The container that checks."""
    munge_container: CheckContainer | None = None
    """Munge daemon beside it, for checks that talk to Slurm (5.0)."""
    script_ref_name: str = absent("")
    """ConfigMap whose key `script.sh` is run instead of the container's command."""


class SlurmJobSpec(Model):
    """A check that is submitted to Slurm."""

    job_container: CheckContainer | None = None
    """The container that submits the job and waits for it."""
    munge_container: CheckContainer | None = None
    """Munge daemon beside it."""
    sbatch_script: str = absent("")
    """The batch script itself."""
    sbatch_script_ref_name: str = absent("")
    """ConfigMap whose key `sbatch.sh` is the batch script."""
    each_worker_job_array: bool = False
    """Whether one array job is spread over all workers (1.22)."""
    each_worker_jobs: bool = False
    """Whether every worker gets a job of its own."""
    max_number_of_jobs: Int64 = 0
    """How many jobs of its own are made at most; 0 means no limit."""


class LegacyReactions(Model):
    """What a failed job leads to, in the words of 1.22."""

    set_condition: bool = absent(False)
    """Whether the failure counts as a problem of the node, which may get the node replaced."""
    drain_slurm_node: bool = absent(False)
    """Whether the nodes of the job are drained."""
    comment_slurm_node: bool = absent(False)
    """Whether the nodes of the job get a comment."""


class Drain(Model):
    """Drain the nodes of the job."""

    drain_reason_prefix: str = absent("")
    """Start of the drain reason; empty means that nodes are not drained."""


class Comment(Model):
    """Comment on the nodes of the job."""

    comment_prefix: str = absent("")
    """Start of the comment; empty means that no comment is made."""


class Quarantine(Model):
    """A reservation in Slurm that keeps everybody but the checks from a node."""

    prefix: str = absent("")
    """Start of its name, `<prefix>-<node>`; empty means that there is none."""


class Reactions(Model):
    """What the end of a job leads to."""

    drain_slurm_node: Drain | None = None
    """Drain the nodes of the job."""
    comment_slurm_node: Comment | None = None
    """Comment on the nodes of the job."""
    add_reservation: Quarantine | None = None
    """Reserve each node of the job for the checks, which go on there (Slurm 25.05)."""
    remove_reservation: Quarantine | None = None
    """Give the nodes of the job back to everybody."""


class ActiveCheckSpec(Model):
    """What is checked, when, and what follows."""

    name: str
    """Name of the container and start of the names of the first Job and of the script's ConfigMap."""
    slurm_cluster_ref_name: str
    """SlurmCluster in the same namespace."""
    depends_on: Items[str] = absent(())
    """Other ActiveChecks in the same namespace that must have passed first."""
    schedule: str = "0 0 1 1 *"
    """When the check runs, in cron's notation."""
    suspend: bool = True
    """Whether the schedule is on hold."""
    run_after_creation: bool = True
    """Whether the check runs once as soon as the cluster is available."""
    active_deadline_seconds: Int64 = 1800
    """How long one run may take."""
    successful_jobs_history_limit: Int32 = 3
    """How many passed Jobs are kept."""
    failed_jobs_history_limit: Int32 = 16
    """How many failed Jobs are kept."""
    node_selector: StringMap = absent({})
    """Labels of the nodes that the pod runs on."""
    affinity: Affinity | None = None
    """Affinity of the pod."""
    tolerations: Items[Toleration] = absent(())
    """Taints of nodes that the pod accepts."""
    host_users: bool | None = None
    """Whether the pod shares the user namespace of its host (5.0)."""
    pod_template_name_ref: str = absent("")
    """PodTemplate that is merged over the pod."""
    check_type: Literal["k8sJob", "slurmJob"] = "k8sJob"
    """Whether the check is a pod of its own or a job in Slurm."""
    k8s_job_spec: Annotated[KubernetesJobSpec | None, Field(alias="k8sJobSpec")] = None
    """The check, where it is a pod of its own."""
    slurm_job_spec: SlurmJobSpec | None = None
    """The check, where it is a job in Slurm."""
    reactions: LegacyReactions | None = None
    """What a failed Slurm job leads to (1.22); ignored where failureReactions is given."""
    success_reactions: Reactions | None = None
    """What a passed Slurm job leads to (5.0)."""
    failure_reactions: Reactions | None = None
    """What a failed Slurm job leads to (5.0)."""

    @property
    def on_failure(self) -> Reactions:
        """What a failed Slurm job leads to, whichever field says so."""
        if self.failure_reactions or not self.reactions:
            return self.failure_reactions or Reactions()
        told = self.reactions
        prefix = NODE_PROBLEM if told.set_condition else UNKNOWN_PROBLEM
        return Reactions(
            drain_slurm_node=Drain(drain_reason_prefix=prefix) if told.drain_slurm_node else None,
            comment_slurm_node=Comment(comment_prefix=prefix) if told.comment_slurm_node else None,
        )


class KubernetesJobsStatus(Model):
    """The latest Kubernetes Job of the check."""

    last_transition_time: Time | None = None
    """When the status last changed."""
    last_job_schedule_time: Time | None = None
    """When a run was last due."""
    last_job_successful_time: Time | None = None
    """When a run last passed."""
    last_job_name: str
    """Name of the Job."""
    last_job_status: str
    """Active, Pending, Complete, Failed, Suspended or Unknown."""


class JobAndReason(Model):
    """A Slurm job and what was wrong with it."""

    job_id: Annotated[str, Field(alias="jobID")]
    """Slurm's number of the job."""
    reason: str
    """What was wrong."""


class SlurmJobsStatus(Model):
    """The latest Slurm jobs of the check: lastRun* since 5.0, lastJob* as before; both are kept."""

    last_transition_time: Time | None = None
    """When the status last changed."""
    last_run_id: str = absent("")
    """Slurm's number of the latest job."""
    last_run_name: str = absent("")
    """Name of the latest job."""
    last_run_status: str = absent("")
    """InProgress, Complete, Failed, Cancelled, Error or Skipped."""
    last_run_fail_jobs_and_reasons: Items[JobAndReason] = absent(())
    """Jobs that found something wrong."""
    last_run_error_jobs_and_reasons: Items[JobAndReason] = absent(())
    """Jobs that could not check."""
    last_run_cancelled_jobs: Items[str] = absent(())
    """Jobs that were cancelled."""
    last_run_submit_time: Time | None = None
    """When the jobs were submitted."""
    last_job_id: str = absent("")
    """Slurm's number of the latest job."""
    last_job_name: str = absent("")
    """Name of the latest job."""
    last_job_state: str = absent("")
    """InProgress, Complete, Failed or Degraded (only some of the jobs failed)."""
    last_job_fail_reasons: Items[str] = absent(())
    """What was found wrong."""
    last_job_submit_time: Time | None = None
    """When the jobs were submitted."""
    last_job_end_time: Time | None = None
    """When the last of the jobs ended."""


class ActiveCheckStatus(StatusMetadata):
    """How the check went."""

    k8s_jobs_status: Annotated[KubernetesJobsStatus | None, Field(alias="k8sJobsStatus")] = None
    """The latest Kubernetes Job of the check."""
    slurm_jobs_status: SlurmJobsStatus | None = None
    """The latest Slurm jobs of the check."""


_JOB = ".status.k8sJobsStatus"
_SLURM = ".status.slurmJobsStatus"


class ActiveCheck(
    CustomResource,
    group="slurm.nebius.ai",
    version="v1alpha1",
    plural="activechecks",
    columns=(
        Column("Type", "string", ".spec.checkType"),
        Column("Init", "boolean", ".spec.runAfterCreation"),
        Column("Suspend", "boolean", ".spec.suspend"),
        Column("Schedule", "string", ".spec.schedule"),
        Column("K8s Job Status", "string", f"{_JOB}.lastJobStatus"),
        Column("Slurm Job Status", "string", f"{_SLURM}.lastJobState"),
        Column("Last Job", "string", f"{_SLURM}.lastJobName"),
        Column("Last Job ID", "string", f"{_SLURM}.lastJobId"),
        Column("Slurm Submit Time", "date", f"{_SLURM}.lastRunSubmitTime"),
        AGE,
        Column("K8s Status", "string", f"{_JOB}.lastJobStatus", priority=1),
        Column("Slurm Status", "string", f"{_SLURM}.lastRunStatus", priority=1),
        Column("Slurm ID", "string", f"{_SLURM}.lastRunId", priority=1),
    ),
):
    """A job that proves from time to time that a Slurm cluster, or each of its nodes, is healthy."""

    spec: ActiveCheckSpec | None = None
    """What is checked, when, and what follows."""
    status: ActiveCheckStatus | None = None
    """How the check went."""

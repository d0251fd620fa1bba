"""A check that is a pod of its own: the CronJob that repeats it, and the Job that runs it once at first."""

from typing import Any, Final

from slurmery.api.nebius import ActiveCheck
from slurmery.api.nebius.activecheck import ActiveCheckSpec, CheckContainer, KubernetesJobSpec
from slurmery.doors.merge import merge_pod_spec
from slurmery.kube.desired import Desired
from slurmery.kube.meta import Manifest
from slurmery.kube.resources import CRON_JOBS, JOBS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from slurmery.nebius import names, volumes
from slurmery.nebius.access import rule
from slurmery.nebius.containers import app_armor
from slurmery.nebius.names import Names, role_binding

_SCRIPT: Final = "/opt/bin/entrypoint.sh"
_SCRIPT_MOUNT: Final = {"name": "script-volume", "mountPath": _SCRIPT, "subPath": "entrypoint.sh"}
_RULES: Final = (rule("", ["pods"], ["get"]), rule("batch", ["jobs"], ["get", "patch"]))


def labels(cluster: str) -> dict[str, str]:
    """The labels of everything that belongs to the checks of a cluster."""
    return {names.COMPONENT_LABEL: names.CHECKS, names.INSTANCE_LABEL: cluster}


def access(namespace: str, cluster: str) -> tuple[Desired, ...]:
    """What the pods of all checks of a cluster may do; it belongs to none of them alone."""
    at = Names(cluster, namespace)
    account = at.activecheck_account
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": at.activecheck_role}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    bodies: tuple[tuple[Any, str, dict[str, Any]], ...] = (
        (SERVICE_ACCOUNTS, account, {}),
        (ROLES, at.activecheck_role, {"rules": list(_RULES)}),
        (ROLE_BINDINGS, role_binding(at.activecheck_role), {"roleRef": role, "subjects": [subject]}),
    )
    return tuple(
        Desired(
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name, "namespace": namespace, "labels": labels(cluster)},
                **body,
            },
            owned=False,
        )
        for resource, name, body in bodies
    )


def job_spec(
    check: ActiveCheck, spec: ActiveCheckSpec, given: KubernetesJobSpec, template: Manifest
) -> dict[str, Any]:
    """What every Job of the check is; the pod spec of a PodTemplate is laid over ours. Raises MergeError."""
    pod = {"metadata": _marks(check, spec), "spec": merge_pod_spec(_pod(check, spec, given), template)}
    return {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": pod}


def cron_job(check: ActiveCheck, spec: ActiveCheckSpec, job: Manifest, *, held: bool) -> Manifest:
    """The CronJob of Jobs like this; `held` puts it on hold whatever the spec says."""
    return {
        "apiVersion": CRON_JOBS.api_version,
        "kind": CRON_JOBS.kind,
        "metadata": _metadata(check, spec, check.metadata.name),
        "spec": {
            "schedule": spec.schedule,
            "suspend": spec.suspend or held,
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": spec.successful_jobs_history_limit,
            "failedJobsHistoryLimit": spec.failed_jobs_history_limit,
            "jobTemplate": {"metadata": _marks(check, spec), "spec": job},
        },
    }


def first_job(check: ActiveCheck, spec: ActiveCheckSpec, job: Manifest) -> Manifest:
    """The Job that runs the check once after its creation."""
    owner = {
        "apiVersion": check.place.api_version,
        "kind": check.place.kind,
        "name": check.metadata.name,
        "uid": check.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = _metadata(check, spec, first_name(spec))
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {**metadata, "ownerReferences": [owner]},
        "spec": job,
    }


def first_name(spec: ActiveCheckSpec) -> str:
    """The name of the first Job."""
    return f"{spec.name}-initial-run"


def _metadata(check: ActiveCheck, spec: ActiveCheckSpec, name: str) -> dict[str, Any]:
    return {"name": name, "namespace": check.metadata.namespace, **_marks(check, spec)}


def _marks(check: ActiveCheck, spec: ActiveCheckSpec) -> dict[str, Any]:
    """By these, Jobs and pods are known to belong to the check."""
    return {
        "labels": labels(spec.slurm_cluster_ref_name),
        "annotations": {names.ACTIVE_CHECK_ANNOTATION: check.metadata.name},
    }


def _pod(check: ActiveCheck, spec: ActiveCheckSpec, given: KubernetesJobSpec) -> dict[str, Any]:
    container = given.job_container or CheckContainer()
    munge = given.munge_container
    at = Names(spec.slurm_cluster_ref_name, check.metadata.namespace)
    mounted = [*container.volumes, *(_script(given.script_ref_name) if given.script_ref_name else ())]
    if munge:
        key = {"name": names.MUNGE_KEY, "secret": {"secretName": at.munge, "defaultMode": 0o400}}
        configs = {"name": names.SLURM_CONFIGS, "configMap": {"name": at.slurm_configs}}
        mounted += [key, {"name": names.MUNGE_SOCKET, "emptyDir": {}}, configs]
    fields = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": spec.active_deadline_seconds,
        "serviceAccountName": at.activecheck_account,
        "affinity": spec.affinity,
        "nodeSelector": spec.node_selector,
        "tolerations": list(spec.tolerations),
        "hostUsers": spec.host_users,
        "imagePullSecrets": [*container.image_pull_secrets, *(munge.image_pull_secrets if munge else ())],
        "initContainers": [_munge(munge)] if munge else [],
        "containers": [_container(spec, given, container)],
        "volumes": mounted,
    }
    return {name: value for name, value in fields.items() if value not in ([], {}, None)}


def _container(spec: ActiveCheckSpec, given: KubernetesJobSpec, container: CheckContainer) -> dict[str, Any]:
    command = ["bash", _SCRIPT] if given.script_ref_name else list(container.command)
    mounts = [*container.volume_mounts, *([_SCRIPT_MOUNT] if given.script_ref_name else ())]
    if given.munge_container:
        configs = {"name": names.SLURM_CONFIGS, "mountPath": names.SLURM_CONFIGS_DIR}
        mounts += [volumes.MUNGE_SOCKET, configs]
    return _made(spec.name, container, {"command": command, "volumeMounts": mounts})


def _munge(container: CheckContainer) -> dict[str, Any]:
    key = {"name": names.MUNGE_KEY, "mountPath": names.MUNGE_KEY_DIR, "readOnly": True}
    own = {
        "command": list(container.command),
        "restartPolicy": "Always",
        "volumeMounts": [key, volumes.MUNGE_SOCKET],
    }
    return _made(names.MUNGE, container, own)


def _made(name: str, container: CheckContainer, own: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "name": name,
        "image": container.image,
        "imagePullPolicy": container.image_pull_policy,
        "args": list(container.args),
        "workingDir": container.working_dir or None,
        "env": list(container.env),
        "securityContext": {
            "capabilities": {"add": ["SYS_ADMIN"]},
            **app_armor(container.app_armor_profile),
        },
        **own,
    }
    return {field: value for field, value in fields.items() if value not in ([], {}, None)}


def _script(name: str) -> list[Manifest]:
    item = {"key": "script.sh", "path": "entrypoint.sh", "mode": 0o755}
    return [{"name": "script-volume", "configMap": {"name": name, "items": [item]}}]

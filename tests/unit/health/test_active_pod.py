"""Checks that are pods, as the charts write them."""

from typing import Any

from slurmery.api.nebius import ActiveCheck
from slurmery.health.active import pod

SCRIPTED = {"scriptRefName": "create-user-script", "jobContainer": {"image": "check", "args": ["--all"]}}


def made(template: dict[str, Any] | None = None, given: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = {"name": "create-user", "slurmClusterRefName": "aurora", "k8sJobSpec": given or SCRIPTED}
    metadata = {"name": "create-user", "namespace": "slurm", "uid": "u-1"}
    check = ActiveCheck.model_validate({"metadata": metadata, "spec": spec})
    assert check.spec
    assert check.spec.k8s_job_spec
    job = pod.job_spec(check, check.spec, check.spec.k8s_job_spec, template or {})
    return dict(pod.cron_job(check, check.spec, job, held=False))


def pod_of(cron_job: dict[str, Any]) -> dict[str, Any]:
    return dict(cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def test_a_script_of_a_config_map_is_run_once_and_never_again_by_itself() -> None:
    job = made()["spec"]["jobTemplate"]["spec"]
    spec = pod_of(made())
    [container] = spec["containers"]
    assert (job["backoffLimit"], spec["restartPolicy"]) == (0, "Never")
    assert container["command"] == ["bash", "/opt/bin/entrypoint.sh"]
    assert container["args"] == ["--all"]
    assert spec["volumes"][0]["configMap"]["name"] == "create-user-script"
    assert spec["serviceAccountName"] == "aurora-activecheck-sa"


def test_jobs_and_pods_say_which_check_they_belong_to() -> None:
    template = made()["spec"]["jobTemplate"]
    for metadata in (template["metadata"], template["spec"]["template"]["metadata"]):
        assert metadata["annotations"] == {"slurm.nebius.ai/activecheck": "create-user"}
        assert metadata["labels"]["app.kubernetes.io/component"] == "soperatorchecks"


def test_a_munge_container_runs_beside_the_check_and_shares_its_socket() -> None:
    spec = pod_of(made(given={**SCRIPTED, "mungeContainer": {"image": "munge"}}))
    [munge], [check] = spec["initContainers"], spec["containers"]
    assert munge["restartPolicy"] == "Always"
    shared = {each["name"] for each in munge["volumeMounts"]} & {
        each["name"] for each in check["volumeMounts"]
    }
    assert shared == {"munge-socket"}


def test_a_pod_template_is_laid_over_the_pod() -> None:
    spec = pod_of(made({"priorityClassName": "low", "nodeSelector": {"a": "b"}}))
    assert (spec["priorityClassName"], spec["nodeSelector"]) == ("low", {"a": "b"})
    assert spec["containers"][0]["image"] == "check"

"""One ActiveCheck: what it waits for, then what is due, then how it stands."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from slurmery.api.nebius import ActiveCheck
from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.doors.cache import Cache
from slurmery.doors.conditions import PROGRESSING, Condition, Problem, degraded
from slurmery.doors.merge import MergeError
from slurmery.doors.report import Reporter
from slurmery.doors.views import Custom, read, resource
from slurmery.health.active import kubejobs, pod
from slurmery.health.active.run import run_of
from slurmery.health.active.slurmjobs import Answer, SlurmJobs
from slurmery.health.active.waits import waits
from slurmery.kube.apply import Act, Applier
from slurmery.kube.client import Client
from slurmery.kube.controller import Result
from slurmery.kube.desired import Desired, Owner
from slurmery.kube.errors import AlreadyExistsError, NotFoundError
from slurmery.kube.meta import Key, Manifest
from slurmery.kube.resources import CRON_JOBS, JOBS, POD_TEMPLATES

ACTIVE_CHECKS: Final = resource(ActiveCheck)
CLUSTER_INDEX: Final = "cluster"
CHECK_INDEX: Final = "check"
# Upstream's; what it cleaned up goes with its owner here.
FINALIZER: Final = "slurm.nebius.ai/activecheck-finalizer"


class Part(StrEnum):
    """What can be switched off for itself: seeing what became of jobs, and the account of checks' pods."""

    RESULTS = "activecheckjob"
    ACCOUNTS = "serviceaccount"


_NO_RESULTS: Final = "What becomes of jobs is not looked at: the controller activecheckjob is switched off."


@dataclass(frozen=True)
class Caches:
    """What is known without asking."""

    checks: Cache[Custom]
    clusters: Cache[Custom]
    jobs: Cache[kubejobs.Job]
    cron_jobs: Cache[kubejobs.CronJob]


class Reconcile:
    """Sees to one ActiveCheck; `every` is how often one that waits is looked at."""

    def __init__(  # noqa: PLR0913 - the parts that it is made of
        self,
        client: Client,
        caches: Caches,
        applier: Applier,
        reporter: Reporter,
        slurm_jobs: SlurmJobs,
        *,
        every: float,
        parts: frozenset[Part] = frozenset(Part),
    ) -> None:
        self._parts = parts
        self._client = client
        self._caches = caches
        self._applier = applier
        self._reporter = reporter
        self._slurm_jobs = slurm_jobs
        self._every = every

    async def __call__(self, key: Key, /) -> Result:
        view = self._caches.checks.get(key)
        if view is None or view.deleting:
            self._reporter.forget(key)
            if view:
                await self._release(view)
            return Result()
        try:
            check = read(ActiveCheck, view)
        except ValueError as error:
            problem = Problem("InvalidSpec", str(error))
            await self._reporter.report(view, (degraded([problem]),), {})
            return Result()
        if check.spec is None:
            return Result()
        waiting = self._waits(check, check.spec)
        if check.spec.check_type == "slurmJob":
            unseen = "" if Part.RESULTS in self._parts else _NO_RESULTS
            return await self._slurm(view, check, check.spec, waiting or unseen)
        return await self._kubernetes(view, check, check.spec, waiting)

    def _waits(self, check: ActiveCheck, spec: ActiveCheckSpec) -> str:
        namespace = check.metadata.namespace
        others = {name: self._caches.checks.get(Key(namespace, name)) for name in spec.depends_on}
        cluster = self._caches.clusters.get(Key(namespace, spec.slurm_cluster_ref_name))
        return waits(spec, cluster, others)

    async def _slurm(self, view: Custom, check: ActiveCheck, spec: ActiveCheckSpec, waiting: str) -> Result:
        status = self._reporter.status(view).get("slurmJobsStatus")
        if waiting:
            answer = Answer(status, again=self._every)
        else:
            answer = await self._slurm_jobs.look(check, spec, status, self._under_way(view, spec))
        moving = run_of(answer.status or {}).under_way
        beside = {} if answer.status is None else {"slurmJobsStatus": answer.status}
        await self._say(view, waiting, answer.problems, beside, moving=moving)
        return Result(answer.again)

    def _under_way(self, view: Custom, spec: ActiveCheckSpec) -> int:
        """How many other checks of the cluster have jobs in Slurm now."""
        cluster = Key(view.metadata.namespace, spec.slurm_cluster_ref_name)
        others = [one for one in self._caches.checks.by(CLUSTER_INDEX, cluster) if one.key != view.key]
        runs = [run_of(self._reporter.status(one).get("slurmJobsStatus") or {}) for one in others]
        return sum(run.under_way for run in runs)

    async def _kubernetes(
        self, view: Custom, check: ActiveCheck, spec: ActiveCheckSpec, waiting: str
    ) -> Result:
        cron = self._caches.cron_jobs.get(view.key)
        jobs = self._caches.jobs.by(CHECK_INDEX, view.key)
        before = self._reporter.status(view).get("k8sJobsStatus")
        seen = Part.RESULTS in self._parts
        status = kubejobs.status(jobs, cron, before, datetime.now(UTC)) if seen else before
        problems: tuple[Problem, ...] = ()
        if cron or not waiting:
            job = await self._job(check, spec)
            if isinstance(job, Problem):
                problems = (job,)
            else:
                problems = await self._apply(view, spec, pod.cron_job(check, spec, job, held=bool(waiting)))
                if not waiting and not problems and spec.run_after_creation and status is None:
                    await self._first(pod.first_job(check, spec, job))
        moving = (status or {}).get("lastJobStatus") in {"Active", "Pending"}
        await self._say(view, waiting, problems, {"k8sJobsStatus": status} if status else {}, moving=moving)
        return Result(self._every if waiting or problems else None)

    async def _job(self, check: ActiveCheck, spec: ActiveCheckSpec) -> Manifest | Problem:
        """What the check's Jobs are, or why they cannot be."""
        given, named = spec.k8s_job_spec, spec.pod_template_name_ref
        if given is None or not (given.job_container and given.job_container.image):
            words = "The check has no image: spec.k8sJobSpec.jobContainer.image must give one."
            return Problem("ImageMissing", words)
        try:
            template = await self._template(Key(check.metadata.namespace, named)) if named else {}
            return pod.job_spec(check, spec, given, template)
        except NotFoundError:
            return Problem("PodTemplateNotFound", f"PodTemplate {named} does not exist.")
        except MergeError as error:
            return Problem("InvalidSpec", f"{error}.")

    async def _template(self, key: Key) -> Manifest:
        found = await self._client.get(POD_TEMPLATES, key)
        template: Manifest = (found.get("template") or {}).get("spec") or {}
        return template

    async def _apply(self, view: Custom, spec: ActiveCheckSpec, cron_job: Manifest) -> tuple[Problem, ...]:
        cluster = spec.slurm_cluster_ref_name
        owner = Owner(ACTIVE_CHECKS, view.key, view.metadata.uid, pod.labels(cluster))
        access = pod.access(view.metadata.namespace, cluster) if Part.ACCOUNTS in self._parts else ()
        desired = (*access, Desired(CRON_JOBS, cron_job))
        outcomes = await self._applier.apply(owner, desired)
        self._reporter.tell(view, outcomes)
        return tuple(Problem(each.reason, each.message) for each in outcomes if each.act is Act.BLOCKED)

    async def _first(self, job: Manifest) -> None:
        with suppress(AlreadyExistsError):
            await self._client.create(JOBS, job)

    async def _release(self, view: Custom) -> None:
        held = view.metadata.finalizers or ()
        if FINALIZER in held:
            kept = [each for each in held if each != FINALIZER]
            metadata = {"resourceVersion": view.metadata.resource_version, "finalizers": kept}
            await self._client.patch(ACTIVE_CHECKS, view.key, {"metadata": metadata})

    async def _say(
        self,
        view: Custom,
        waiting: str,
        problems: Iterable[Problem],
        beside: Mapping[str, Any],
        *,
        moving: bool,
    ) -> None:
        if waiting:
            progress = Condition(PROGRESSING, "True", "Waiting", waiting)
        elif moving:
            progress = Condition(PROGRESSING, "True", "Running", "A run is under way.")
        else:
            progress = Condition(PROGRESSING, "False", "Idle", "No run is under way.")
        generation = {"observedGeneration": view.metadata.generation or 0}
        await self._reporter.report(view, (progress, degraded(list(problems))), {**generation, **beside})

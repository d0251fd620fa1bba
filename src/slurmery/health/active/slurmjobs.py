"""A check that is a job in Slurm: its runs are begun, submitted, followed and reacted to through slurmrestd.

No pod takes part. What a run needs to be gone on with is in the status and in the comments of its jobs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from slurmery.api.nebius import ActiveCheck
from slurmery.api.nebius.activecheck import ActiveCheckSpec
from slurmery.doors.conditions import Problem
from slurmery.health.active import reactions
from slurmery.health.active.run import (
    NO_JOB,
    Ended,
    Run,
    begun,
    due,
    ended,
    has_gpus,
    held,
    reported,
    run_of,
    submitted,
    targets,
)
from slurmery.health.active.schedule import ScheduleError, schedule
from slurmery.health.active.script import ScriptError, options
from slurmery.health.active.slurm import Way, Ways
from slurmery.health.active.words import known_reservations, say
from slurmery.kube.client import Client
from slurmery.kube.errors import NotFoundError
from slurmery.kube.logs import logger
from slurmery.kube.meta import Key
from slurmery.kube.resources import CONFIG_MAPS
from slurmery.slurm.errors import RejectedError, SlurmError, UnofferedError
from slurmery.slurm.requests import JobRequest

log = logger("activecheck")

_HOME: Final = "/opt/soperator-home/soperatorchecks"
_OUTPUT: Final = "/opt/soperator-outputs/slurm_jobs/%N.%x.%j.out"
_PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PARTITION: Final = "hidden"
# So many jobs are submitted before others get their turn.
_BATCH: Final = 50
_POLL_SECONDS: Final = 10.0
_SOON_SECONDS: Final = 1.0
_UNTOLD_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Answer:
    """The part of the status that tells of the run, what is wrong, and when to look again."""

    status: dict[str, Any] | None
    problems: tuple[Problem, ...] = ()
    again: float | None = None


class Place(NamedTuple):
    """Where a job is to run: on a node, or wherever Slurm likes; and in which reservation."""

    node: str
    reservation: str


@dataclass(frozen=True)
class SlurmJobs:
    """Runs the checks; at most `limit` at once in one cluster."""

    client: Client
    ways: Ways
    limit: int

    async def look(
        self, check: ActiveCheck, spec: ActiveCheckSpec, status: dict[str, Any] | None, others: int
    ) -> Answer:
        """Do what is due. `others` is how many checks of the cluster are under way beside this one."""
        run = run_of(status or {})
        try:
            if run.under_way:
                return await self._go_on(check, spec, run, status or {})
            return await self._begin(check, spec, run, status, others)
        except (ScheduleError, ScriptError) as error:
            # A ConfigMap may be mended without our being told.
            return Answer(status, (Problem("InvalidSpec", f"{error}."),), _UNTOLD_SECONDS)
        except UnofferedError as error:
            return Answer(status, (Problem("NotOffered", f"{error}."),), _UNTOLD_SECONDS)
        except SlurmError as error:
            words = f"Slurm could not be asked: {error}"
            return Answer(status, (Problem("SlurmUnreachable", words),), _POLL_SECONDS)

    async def _begin(
        self,
        check: ActiveCheck,
        spec: ActiveCheckSpec,
        run: Run,
        status: dict[str, Any] | None,
        others: int,
    ) -> Answer:
        now = datetime.now(UTC)
        created = check.metadata.creation_timestamp or now
        at = due(spec, schedule(spec.schedule), run, created, check.metadata.uid)
        if at is None:
            return Answer(status)
        if at > now:
            return Answer(status, again=(at - now).total_seconds())
        if others >= self.limit:
            return Answer(status, again=_POLL_SECONDS)
        options(await self._script(check.metadata.namespace, spec), now.timestamp())
        if reactions.reserves(spec):
            await self._way(check, spec).root.can_reserve()
        # First it is written that the run has begun; jobs are submitted on the next look.
        return Answer(begun(now, check.metadata.name), again=0.0)

    async def _go_on(
        self, check: ActiveCheck, spec: ActiveCheckSpec, run: Run, status: dict[str, Any]
    ) -> Answer:
        way = self._way(check, spec)
        if not run.ids:
            return await self._submit(way, check, spec, run, status)
        results = ended(run, await way.jobs(), datetime.now(UTC))
        await self._react(way, check, spec, run, results)
        fresh = reported(status, results, datetime.now(UTC))
        return Answer(fresh, again=_POLL_SECONDS if results.open else 0.0)

    def _way(self, check: ActiveCheck, spec: ActiveCheckSpec) -> Way:
        return self.ways.to(Key(check.metadata.namespace, spec.slurm_cluster_ref_name))

    async def _submit(
        self, way: Way, check: ActiveCheck, spec: ActiveCheckSpec, run: Run, status: dict[str, Any]
    ) -> Answer:
        try:
            script = await self._script(check.metadata.namespace, spec)
            wanted = options(script, datetime.now(UTC).timestamp())
        except ScriptError as error:
            # It was good when the run began. The run ends, lest it keep its place for ever.
            return _over(status, Ended(errors=((NO_JOB, str(error)),)))
        listing = await way.root.nodes()
        nodes = {node.name: node for node in (listing.items if listing else ())}
        if "gres/gpu" in wanted.get("tres_per_node", ""):
            nodes = {name: node for name, node in nodes.items() if has_gpus(node)}
            if not nodes:
                return _over(status, Ended(skipped=True))
        mark = run.mark(f"{check.metadata.namespace}/{check.metadata.name}")
        known = [job for job in await way.jobs(fresh=True) if job.comment == mark]
        reservations = await known_reservations(way, spec)
        missing = targets(spec, nodes.values(), known, mark, reservations)
        if not missing and not known:
            return _over(status, Ended(errors=((NO_JOB, "No node can be checked now."),)))
        ids = {job.array_job_id or job.job_id for job in known}
        refusals: list[str] = []
        for name in missing[:_BATCH]:
            place = Place(name, held(spec, name, reservations))
            request = _request(check.metadata.name, spec, wanted, mark, place)
            try:
                ids.add(await way.submitter.submit(script, request))
            except RejectedError as error:
                log.warning("Job refused", check=check.metadata.name, node=name, error=str(error))
                refusals.append(str(error))
        if len(missing) > _BATCH and len(refusals) < _BATCH:
            return Answer(status, again=_SOON_SECONDS)
        if not ids:
            return _over(status, Ended(errors=((NO_JOB, refusals[0]),)))
        return Answer(submitted(status, ids), again=_POLL_SECONDS)

    async def _script(self, namespace: str, spec: ActiveCheckSpec) -> str:
        given = spec.slurm_job_spec
        if given and given.sbatch_script:
            return given.sbatch_script
        name = given.sbatch_script_ref_name if given else ""
        if not name:
            raise ScriptError("slurmJobSpec gives no script")
        try:
            found = await self.client.get(CONFIG_MAPS, Key(namespace, name))
        except NotFoundError:
            raise ScriptError(f"ConfigMap {name} does not exist") from None
        text: str = (found.get("data") or {}).get("sbatch.sh", "")
        if not text:
            raise ScriptError(f"ConfigMap {name} holds no sbatch.sh")
        return text

    async def _react(
        self, way: Way, check: ActiveCheck, spec: ActiveCheckSpec, run: Run, results: Ended
    ) -> None:
        """Failures at once, each of them once; successes when the run is over."""
        name = check.metadata.name
        failed = [job for job, _ in results.failed if str(job.job_id) not in run.failed]
        passed = results.passed if not results.open else ()
        reservations = await known_reservations(way, spec) if failed or passed else set()
        for job in failed:
            await say(way, job, reactions.on_failure(spec, name, job.job_id), reservations)
        for job in passed:
            await say(way, job, reactions.on_success(spec, name, job.job_id), reservations)


def _over(status: dict[str, Any], results: Ended) -> Answer:
    """The run has ended without a job."""
    return Answer(reported(status, results, datetime.now(UTC)))


def _request(
    name: str, spec: ActiveCheckSpec, wanted: Mapping[str, Any], mark: str, place: Place
) -> JobRequest:
    fields: dict[str, Any] = {
        "current_working_directory": _HOME,
        "partition": _PARTITION,
        "standard_output": _OUTPUT,
        "standard_error": _OUTPUT,
        "requeue": False,
        **wanted,
    }
    if place.node:
        fields |= {"required_nodes": (place.node,), "nodes": "1"}
    if place.reservation:
        fields["reservation"] = place.reservation
    environment = (_PATH, f"ACTIVE_CHECK_NAME={name}", *_variables(spec))
    return JobRequest(name=name, environment=environment, comment=mark, **fields)


def _variables(spec: ActiveCheckSpec) -> Iterable[str]:
    """What the spec gives as plain values; what a pod would look up, a job cannot."""
    container = spec.slurm_job_spec.job_container if spec.slurm_job_spec else None
    for each in container.env if container else ():
        if "value" in each:
            yield f"{each['name']}={each['value']}"

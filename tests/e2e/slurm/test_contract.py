"""Every call of the client against real slurmrestd of both releases, in every version that they speak."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from slurmery.slurm.client import SlurmClient
from slurmery.slurm.errors import (
    DeadlineError,
    NotFoundError,
    RefusedError,
    RejectedError,
    UnauthorisedError,
    UnofferedError,
    UnreachableError,
)
from slurmery.slurm.model import Node, Number
from slurmery.slurm.requests import JobFilter, JobRequest, NodeUpdate, ReservationRequest
from slurmery.slurm.tokens import ScontrolTokens, SignedTokens, StaticToken, TokenSource
from tests.e2e.slurm.conftest import VERSIONS, connect
from tests.e2e.slurm.lab import Lab

OURS = "slurmery: contract"
DRAIN = NodeUpdate(state=("DRAIN",), reason=OURS)


def sleeper(**more: object) -> JobRequest:
    wish = {"name": "sleeper", "current_working_directory": "/tmp", "environment": ("PATH=/usr/bin:/bin",)}
    return JobRequest(**wish, memory_per_node=Number(number=100), **more)  # type: ignore[arg-type]


async def until(question: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not await question():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def members(slurm: SlurmClient) -> dict[str, Node]:
    listing = await slurm.nodes()
    assert listing is not None
    return {node.name: node for node in listing.items}


async def run_on(slurm: SlurmClient, node: str) -> int:
    job = await slurm.submit("#!/bin/sh\nsleep 600\n", sleeper(required_nodes=(node,)))
    await until(lambda: _is_running(slurm, job))
    return job


async def _is_running(slurm: SlurmClient, job: int) -> bool:
    return (await slurm.job(job)).is_running


async def test_the_newest_version_is_found(lab: Lab) -> None:
    assert await connect(lab).version() == VERSIONS[lab.release][0]


async def test_every_version_reads_everything(lab: Lab, slurm: SlurmClient) -> None:
    job = await run_on(slurm, "n0")
    for version in VERSIONS[lab.release]:
        client = connect(lab, version)
        assert [ping.is_up for ping in await client.ping()] == [True]
        assert (await client.diag()).server_thread_count > 0
        assert set(await members(client)) == {"n0", "n1"}
        assert (await client.node("n0")).is_busy
        jobs = await client.jobs()
        assert jobs is not None
        assert job in {item.job_id for item in jobs.items}
        assert (await client.job(job)).node_names == ("n0",)
        assert str(job) in {item.job_id for item in await client.job_states()}
        partitions = await client.partitions()
        assert partitions is not None
        assert [partition.nodes for partition in partitions.items] == ["n[0-1]"]
        assert await client.reservations() is not None


async def test_every_version_drains_and_undrains(lab: Lab, slurm: SlurmClient) -> None:
    for version in VERSIONS[lab.release]:
        client = connect(lab, version)
        await client.update_node("n0", DRAIN)
        node = await client.node("n0")
        assert (node.is_drained, node.reason, node.drain_owner(["slurmery:"])) == (True, OURS, "slurmery:")
        assert node.reason_changed_at is not None
        await client.update_node("n0", NodeUpdate(state=("UNDRAIN",)))
        assert not (await client.node("n0")).has_drain


async def test_every_version_says_when_nothing_changed(lab: Lab, slurm: SlurmClient) -> None:
    for version in VERSIONS[lab.release]:
        client = connect(lab, version)
        nodes, jobs = await client.nodes(), await client.jobs()
        partitions, reservations = await client.partitions(), await client.reservations()
        assert nodes is not None
        assert jobs is not None
        assert partitions is not None
        assert reservations is not None
        later = 60  # a change in the second of the answer itself counts as new
        assert await client.nodes(nodes.last_update + later) is None
        assert await client.jobs(jobs.last_update + later) is None
        assert await client.partitions(partitions.last_update + later) is None
        assert await client.reservations(reservations.last_update + later) is None


async def test_a_change_is_seen_by_whoever_asks_for_changes(lab: Lab, slurm: SlurmClient) -> None:
    """24.11 fails here as long as only nodes changed; the client then asks for everything."""
    since = 0

    async def is_quiet() -> bool:
        nonlocal since
        listing = await slurm.nodes(since)
        since = listing.last_update if listing else since
        return listing is None

    await until(is_quiet)
    await slurm.update_node("n1", DRAIN)
    after = await slurm.nodes(since)
    assert after is not None
    assert [node.name for node in after.items if node.has_drain] == ["n1"]


async def test_several_nodes_are_updated_at_once(slurm: SlurmClient) -> None:
    more = NodeUpdate(comment="both", features=("base", "more"), features_act=("base",))
    await slurm.update_nodes(["n0", "n1"], more)
    for node in (await members(slurm)).values():
        assert (node.comment, node.features, node.active_features) == ("both", ("base", "more"), ("base",))
    await slurm.update_nodes(["n0", "n1"], NodeUpdate(features=("base",), features_act=("base",)))


async def test_unknown_names_are_not_found(lab: Lab, slurm: SlurmClient) -> None:
    for version in VERSIONS[lab.release]:
        client = connect(lab, version)
        for call in (
            client.node("nosuch"),
            client.node("n[0-1]"),
            client.update_node("nosuch", DRAIN),
            client.delete_node("nosuch"),
            client.job(99_999_999),
            client.cancel(99_999_999),
            client.reservation("nosuch"),
        ):
            with pytest.raises(NotFoundError):
                await call


async def test_a_static_node_cannot_be_deleted(slurm: SlurmClient) -> None:
    with pytest.raises(RejectedError) as caught:
        await slurm.delete_node("n0")
    assert caught.value.number == 2028


async def test_a_job_from_submission_to_accounting(slurm: SlurmClient) -> None:
    job_id = await slurm.submit(
        "#!/bin/sh\nsleep 600\n",
        sleeper(tres_per_node="gres/gpu:h200=1", time_limit=Number(number=5), required_nodes=("n1",)),
    )
    await until(lambda: _is_running(slurm, job_id))
    job = await slurm.job(job_id)
    assert (job.time_limit, job.node_names, job.user_name) == (5, ("n1",), "slurm")
    assert (await members(slurm))["n1"].is_busy
    await slurm.cancel(job_id)
    await slurm.cancel(job_id)

    async def is_accounted() -> bool:
        jobs = {item.job_id: item for item in await slurm.accounted_jobs()}
        return job_id in jobs and jobs[job_id].state == "CANCELLED"

    await until(is_accounted)
    await until(lambda: _is_idle(slurm, "n1"))


async def _is_idle(slurm: SlurmClient, name: str) -> bool:
    return (await members(slurm))[name].is_idle


async def test_jobs_are_cancelled_by_what_they_are(slurm: SlurmClient) -> None:
    ours = await slurm.submit("#!/bin/sh\nsleep 600\n", sleeper(comment="a", hold=True))
    named = JobRequest(name="other", current_working_directory="/tmp", environment=("A=b",), hold=True)
    other = await slurm.submit("#!/bin/sh\nsleep 600\n", named)
    assert await slurm.cancel_jobs(JobFilter(job_name="other", user_name="slurm")) == ()
    assert (await slurm.job(other)).is_finished
    assert (await slurm.job(ours)).is_pending


async def test_a_job_that_cannot_run_anywhere_is_rejected(slurm: SlurmClient) -> None:
    with pytest.raises(RejectedError) as caught:
        await slurm.submit("#!/bin/sh\ntrue\n", sleeper(partition="nosuch"))
    assert caught.value.number == 2000


async def test_a_draining_node_is_drained_when_its_job_has_ended_and_not_before(slurm: SlurmClient) -> None:
    job = await run_on(slurm, "n1")
    await slurm.update_node("n1", DRAIN)
    assert not (await members(slurm))["n1"].is_drained
    assert not (await slurm.node("n1")).is_drained
    await slurm.cancel(job)

    async def is_drained() -> bool:
        return (await members(slurm))["n1"].is_drained

    await until(is_drained)


async def test_a_node_with_a_suspended_job_is_never_drained(lab: Lab, slurm: SlurmClient) -> None:
    job = await run_on(slurm, "n1")
    await slurm.update_node("n1", DRAIN)
    lab.run("scontrol", "suspend", str(job))
    for _ in range(10):
        assert not (await slurm.node("n1")).is_drained
        assert not (await members(slurm))["n1"].is_drained
        await asyncio.sleep(0.1)


async def test_a_job_may_be_called_anything(lab: Lab, slurm: SlurmClient) -> None:
    lab.run("sh", "-c", 'cd /tmp && sbatch --hold --wrap true --job-name "$(printf \'caf\\351 \\001"\\\\\')"')
    jobs = await slurm.jobs()
    assert jobs is not None
    assert 'caf\ufffd \x01"\\' in {job.name for job in jobs.items}


async def test_reservations_are_made_changed_and_removed(lab: Lab, slurm: SlurmClient) -> None:
    start = int(time.time()) + 3600
    wish = ReservationRequest(
        name="maint[1]",
        start_time=Number(number=start),
        duration=Number(number=60),
        node_list=("n0",),
        users=("slurm",),
        flags=("MAINT", "IGNORE_JOBS"),
    )
    for version in VERSIONS[lab.release]:
        client = connect(lab, version)
        if version < "v0.0.43":
            with pytest.raises(UnofferedError):
                await client.reserve(wish)
            continue
        await client.reserve(wish)
        await client.reserve(ReservationRequest(name="maint[1]", node_list=("n[0-1]",)))
        made = await client.reservation("maint[1]")
        assert (made.node_list, made.users, made.start_time) == ("n[0-1]", "slurm", start)
        assert set(made.flags) >= {"MAINT", "IGNORE_JOBS"}
        await client.delete_reservation("maint[1]")
        with pytest.raises(NotFoundError):
            await client.delete_reservation("maint[1]")


async def test_reconfiguring(slurm: SlurmClient) -> None:
    await slurm.reconfigure()
    await until(lambda: _is_idle(slurm, "n0"))


async def test_only_a_good_token_is_accepted(lab: Lab) -> None:
    async def wrong_key() -> bytes:
        return b"x" * 32

    async def key() -> bytes:
        return lab.key

    for tokens in (
        SignedTokens(wrong_key),
        SignedTokens(key, clock=lambda: time.time() - 10_000),
        StaticToken("nonsense"),
        StaticToken(""),
    ):
        with pytest.raises(UnauthorisedError):
            await SlurmClient(lab.url, tokens).nodes()


async def test_a_user_without_privileges_reads_but_does_not_write(lab: Lab, slurm: SlurmClient) -> None:
    alice = connect(lab, user="alice")
    assert await alice.nodes() is not None
    with pytest.raises(RefusedError) as caught:
        await alice.update_node("n0", DRAIN)
    assert caught.value.number == 2010
    assert not (await slurm.node("n0")).has_drain


async def test_tokens_of_scontrol_are_accepted(lab: Lab, tmp_path: Path) -> None:
    program = tmp_path / "scontrol"
    program.write_text(f'#!/bin/sh\nexec {" ".join(lab.enter("scontrol"))} "$@"\n')
    program.chmod(0o755)
    tokens: TokenSource = ScontrolTokens(scontrol=str(program), user="slurm")
    assert await SlurmClient(lab.url, tokens).nodes() is not None


async def test_a_slurmctld_that_hangs_or_is_gone_is_not_an_answer(lab: Lab, slurm: SlurmClient) -> None:
    lab.signal_slurmctld("STOP")
    try:
        for call in (slurm.nodes(), slurm.jobs(), slurm.partitions(), slurm.node("n0"), slurm.diag()):
            with pytest.raises((DeadlineError, UnreachableError)):
                await call
        assert [ping.is_up for ping in await slurm.ping()] == [False]
        hasty = SlurmClient(lab.url, StaticToken("x"), version=VERSIONS[lab.release][0], list_deadline=0.2)
        with pytest.raises(DeadlineError):
            await hasty.nodes()
    finally:
        lab.signal_slurmctld("CONT")
    lab.signal_slurmctld("KILL")
    try:
        for call in (slurm.nodes(), slurm.jobs(), slurm.node("n0")):
            with pytest.raises((DeadlineError, UnreachableError)):
                await call
    finally:
        lab.restart_slurmctld()
    await until(lambda: _answers(slurm))


async def _answers(slurm: SlurmClient) -> bool:
    try:
        return all(node.is_idle for node in (await members(slurm)).values())
    except (DeadlineError, UnreachableError):
        return False

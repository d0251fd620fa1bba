"""Partitions, reservations, pings, statistics and accounting, from every version."""

import math

import pytest

from slurmery.slurm import answers
from slurmery.slurm.records import Diag
from tests.unit.slurm.recordings import RELEASES, recording

pytestmark = pytest.mark.parametrize(("release", "version"), RELEASES)


def test_partitions(release: str, version: str) -> None:
    answer = answers.read(200, recording(release, version, "partitions"), answers.PartitionsAnswer)
    assert isinstance(answer.items, tuple)
    (partition,) = answer.items
    assert (partition.name, partition.node_count, partition.is_up) == ("all", 3, True)
    assert partition.nodes == "dyn0,n[0-1]"
    assert "gres/gpu=20" in partition.tres
    assert partition.time_limit == math.inf


def test_reservations(release: str, version: str) -> None:
    answer = answers.read(200, recording(release, version, "reservations"), answers.ReservationsAnswer)
    assert isinstance(answer.items, tuple)
    (reservation,) = answer.items
    assert (reservation.name, reservation.node_list, reservation.users) == ("maint", "n0", "slurm")
    assert set(reservation.flags) >= {"MAINT", "IGNORE_JOBS"}
    assert reservation.start_time is not None
    assert reservation.end_time == reservation.start_time + 3600


def test_ping(release: str, version: str) -> None:
    answer = answers.read(200, recording(release, version, "ping"), answers.PingsAnswer)
    assert isinstance(answer.items, tuple)
    assert [(ping.hostname, ping.is_up) for ping in answer.items] == [("ctl", True)]


def test_statistics(release: str, version: str) -> None:
    diag = answers.read(200, recording(release, version, "diag"), answers.DiagAnswer).statistics
    assert isinstance(diag, Diag)
    assert diag.server_thread_count == 1
    by_type = {rpc.message_type: rpc for rpc in diag.rpcs_by_message_type}
    assert by_type["REQUEST_NODE_INFO"].count > 0
    assert by_type["REQUEST_NODE_INFO"].total_time > 0
    assert {rpc.user: rpc.user_id for rpc in diag.rpcs_by_user}["slurm"] == 64030


def test_job_states(release: str, version: str) -> None:
    answer = answers.read(200, recording(release, version, "jobs_state"), answers.JobStatesAnswer)
    assert isinstance(answer.items, tuple)
    assert ("SUSPENDED",) in {job.state for job in answer.items}
    assert any("_" in job.job_id for job in answer.items)


def test_accounted_jobs(release: str, version: str) -> None:
    answer = answers.read(200, recording(release, version, "slurmdb_jobs"), answers.AccountedJobsAnswer)
    assert isinstance(answer.items, tuple)
    completed, cancelled = answer.items
    assert (completed.state, completed.exit_code, completed.cluster) == ("COMPLETED", 0, "lab")
    assert completed.start_time is not None
    assert completed.end_time is not None
    assert completed.end_time - completed.start_time == completed.elapsed
    assert completed.allocated["cpu"] > 0
    assert "energy" not in completed.allocated
    assert cancelled.state == "CANCELLED"

"""slurmctld's statistics as metrics."""

import pytest

from slurmery.exporter import partitions, statistics
from slurmery.slurm import answers
from slurmery.slurm.records import Diag, RpcByType, RpcByUser
from tests.unit.exporter.parsed import names, of, one, parsed
from tests.unit.slurm.recordings import RELEASES, recording


def test_microseconds_become_seconds() -> None:
    diag = Diag(
        rpcs_by_message_type=(RpcByType("REQUEST_PING", 2, 61410), RpcByType("REQUEST_NODE_INFO", 3, 1))
    )
    series = parsed(statistics.blocks(diag))

    for prefix, label in (("slurm_controller_rpc", "message_type"), ("slurm_rpc", "method")):
        assert one(series, f"{prefix}_calls_total", **{label: "REQUEST_PING"}) == 2
        assert one(series, f"{prefix}_duration_seconds_total", **{label: "REQUEST_PING"}) == 0.06141
        assert one(series, f"{prefix}_duration_seconds_total", **{label: "REQUEST_NODE_INFO"}) == 1e-06


def test_users_have_names_and_ids() -> None:
    series = parsed(statistics.blocks(Diag(rpcs_by_user=(RpcByUser("alice", 2001, 7, 3_000_000),))))

    assert of(series, "slurm_controller_rpc_user_calls_total") == [({"user": "alice", "user_id": "2001"}, 7)]
    assert one(series, "slurm_controller_rpc_user_duration_seconds_total", user="alice") == 3


def test_what_never_happened_is_left_out_but_threads_are_not() -> None:
    diag = Diag(
        rpcs_by_message_type=(RpcByType("NEVER", 0, 0), RpcByType("TIMELESS", 1, 0)),
        rpcs_by_user=(RpcByUser("nobody", 99, 0, 0),),
    )
    series = parsed(statistics.blocks(diag))

    assert names(series) == {
        *(
            "slurm_controller_server_thread_count",
            "slurm_controller_rpc_calls_total",
            "slurm_rpc_calls_total",
        ),
    }
    assert one(series, "slurm_controller_server_thread_count") == 0


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_every_recorded_answer_has_figures(release: str, version: str) -> None:
    diag = answers.read(200, recording(release, version, "diag"), answers.DiagAnswer).statistics
    assert isinstance(diag, Diag)
    series = parsed(statistics.blocks(diag))

    assert one(series, "slurm_controller_server_thread_count") >= 1
    assert all(value > 0 for _, value in of(series, "slurm_controller_rpc_calls_total"))


@pytest.mark.parametrize(("release", "version"), RELEASES)
def test_partitions_have_nodes_and_are_up(release: str, version: str) -> None:
    items = answers.read(200, recording(release, version, "partitions"), answers.PartitionsAnswer).items
    assert isinstance(items, tuple)
    series = parsed(partitions.blocks(items))

    assert one(series, "slurm_partition_up", partition="all") == 1
    assert one(series, "slurm_partition_nodes", partition="all") >= 2

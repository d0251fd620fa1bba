"""slurmctld's own statistics as text. What it has never counted is left out, except its threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from slurmery.exporter.page import Block
from slurmery.exporter.text import Family, Labels, Text, sample
from slurmery.slurm.records import Diag, RpcByType, RpcByUser

_MICROSECONDS: Final = 1e6

THREADS: Final = Family(
    "slurm_controller_server_thread_count", "gauge", "Threads with which slurmctld answers requests."
)


def blocks(diag: Diag) -> list[Block]:
    types, users = diag.rpcs_by_message_type, diag.rpcs_by_user
    typed, method, user = Labels("message_type"), Labels("method"), Labels("user", "user_id")
    text = Text(THREADS)
    text.add([sample(THREADS.name, "", diag.server_thread_count)])
    return [
        text.block(),
        *_pair("slurm_controller_rpc", "by type", [(typed(rpc.message_type), rpc) for rpc in types]),
        *_pair("slurm_rpc", "by type", [(method(rpc.message_type), rpc) for rpc in types]),
        *_pair(
            "slurm_controller_rpc_user", "by user", [(user(rpc.user, str(rpc.user_id)), rpc) for rpc in users]
        ),
    ]


def _pair(prefix: str, by: str, rpcs: Sequence[tuple[str, RpcByType | RpcByUser]]) -> list[Block]:
    calls = Text(Family(f"{prefix}_calls_total", "counter", f"Requests to slurmctld, {by}."))
    seconds = Text(
        Family(f"{prefix}_duration_seconds_total", "counter", f"Seconds that slurmctld spent on them, {by}.")
    )
    calls.add(sample(calls.name, labels, rpc.count) for labels, rpc in rpcs if rpc.count)
    seconds.add(
        sample(seconds.name, labels, rpc.total_time / _MICROSECONDS) for labels, rpc in rpcs if rpc.total_time
    )
    return [calls.block(), seconds.block()]

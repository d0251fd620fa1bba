"""How MariaDB is set up for slurmdbd, whoever runs it."""

from typing import Final

from slurmery.api.nebius.mariadb import MariaDbOperator
from slurmery.api.quantity import quantity

_MIB: Final = 1024 * 1024


def settings(database: MariaDbOperator) -> dict[str, str]:
    """The server's settings; half of the container's memory holds data, where that is known."""
    memory = quantity(database.resources.get("memory", 0))
    pool = {"innodb_buffer_pool_size": f"{max(1, int(memory / 2 / _MIB))}M"} if memory else {}
    return {
        "bind-address": "*",
        "default_storage_engine": "InnoDB",
        "innodb_default_row_format": "DYNAMIC",
        **pool,
        "innodb_log_file_size": "64M",
        "innodb_lock_wait_timeout": "900",
        "max_allowed_packet": "16M",
        # Slurm cannot live with it; `loose`, because servers before 11.6 do not know it.
        "loose_innodb_snapshot_isolation": "OFF",
    }


def my_cnf(database: MariaDbOperator) -> str:
    """The settings as a file."""
    lines = [f"{name}={value}" for name, value in settings(database).items()]
    return "\n".join(["[mariadb]", *lines, ""])

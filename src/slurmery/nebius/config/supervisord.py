"""supervisord.conf of workers: slurmd, and sshd beside it."""

from typing import Final

from slurmery.nebius import names
from slurmery.nebius.config import words

_SUPERVISORD: Final = (
    "[supervisord]",
    "nodaemon=true",
    "logfile=/dev/null",
    "logfile_maxbytes=0",
    "pidfile=/var/run/supervisord.pid",
)
_BOTH: Final = (
    "stdout_logfile=/dev/fd/1",
    "stdout_logfile_maxbytes=0",
    "stderr_logfile=/dev/fd/2",
    "stderr_logfile_maxbytes=0",
    "redirect_stderr=true",
    "autostart=true",
    "autorestart=true",
    "startsecs=0",
    "stopasgroup=true",
    "killasgroup=true",
    "stopsignal=SIGTERM",
    "stopwaitsecs=10",
)


def supervisord_conf() -> str:
    """The file."""
    sshd = f"/usr/sbin/sshd -D -e -f {names.SSH_CONFIGS_DIR}/{names.SSHD_CONFIG}"
    return words.file(
        [
            *_SUPERVISORD,
            "",
            *_program("slurmd", 1, f"{names.SLURM_SCRIPTS_DIR}/slurmd_entrypoint.sh"),
            "",
            *_program("sshd", 10, sshd),
        ]
    )


def _program(name: str, priority: int, command: str) -> list[str]:
    return [f"[program:{name}]", f"priority={priority}", f"command={command}", *_BOTH]

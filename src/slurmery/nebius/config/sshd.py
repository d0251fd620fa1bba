"""sshd_config of login nodes and workers: keys only, into the shared root, root by the keys of the spec."""

from typing import Final

from slurmery.nebius import names
from slurmery.nebius.config import words

_BEFORE: Final = (
    "PermitRootLogin yes",
    "PasswordAuthentication no",
    "ChallengeResponseAuthentication no",
    "UsePAM yes",
    "AcceptEnv LANG LC_*",
    "X11Forwarding no",
    "AllowTcpForwarding yes",
    "Subsystem sftp internal-sftp",
    *(
        f"HostKey {names.SSHD_KEYS_DIR}/{names.host_key(algorithm)}"
        for algorithm in names.HOST_KEY_ALGORITHMS
    ),
    f"ChrootDirectory {names.JAIL_DIR}",
    "ClientAliveInterval 3600",
    "ClientAliveCountMax 5",
    "MaxStartups 100:50:300",
    "LoginGraceTime 120",
    "MaxAuthTries 4",
    "LogLevel DEBUG3",
)
_DIRECTORY_KEYS: Final = (
    "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys",
    "AuthorizedKeysCommandUser nobody",
)
_AFTER: Final = (
    "",
    "Match User root",
    f"    AuthorizedKeysFile {names.ROOT_KEYS_PATH} {names.JAIL_DIR}{names.ROOT_KEYS_PATH}",
    "",
    "Match User *",
    "    LogLevel INFO",
)


def sshd_config(port: int, *, directory: bool) -> str:
    """The file; with `directory`, keys of users also come from the directory service behind sssd."""
    return words.file([f"Port {port}", *_BEFORE, *(_DIRECTORY_KEYS if directory else ()), *_AFTER])

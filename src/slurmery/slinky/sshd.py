"""sshd_config: our options, then the user's text.

sshd takes the first value that it reads for an option. So an option that the user's text sets, for everybody
and not below a `Match`, is left to the user.
"""

import re
from collections.abc import Iterable, Iterator

from slurmery.slinky import names
from slurmery.slurmconf import text

Option = tuple[str, str]

INCLUDE: Option = ("Include", "/etc/ssh/sshd_config.d/*.conf")
USE_PAM: Option = ("UsePAM", "yes")
X11: Option = ("X11Forwarding", "yes")
SFTP: Option = ("Subsystem", "sftp internal-sftp")
# Separated by a blank, so either is enough.
KEY_OR_PASSWORD: Option = ("AuthenticationMethods", "publickey password")


def port(number: int) -> tuple[Option, ...]:
    """The option for another port than sshd's own."""
    return () if number == names.SSH_PORT else (("Port", str(number)),)


def config(options: Iterable[Option], extra: str) -> str:
    """The file; `extra` is what the user wrote in sshd's own language."""
    theirs = set(_keywords(extra))
    ours = [f"{name} {value}" for name, value in options if _identity(name, value) not in theirs]
    return text.file(
        text.section("GENERAL", ours),
        ["#", "### EXTRA CONFIG ###", *text.raw("extraSshdConfig", extra)],
    )


def _keywords(extra: str) -> Iterator[str]:
    for line in text.lines(extra):
        name, *value = re.split(r"[\s=]+", line.strip(), maxsplit=1)
        if name.lower() == "match":
            return
        yield _identity(name, *value)


def _identity(name: str, value: str = "") -> str:
    """What can be said only once: an option, or each subsystem by its own name. Includes add up."""
    if name.lower() == "include":
        return f"include {value}"
    return f"subsystem {value.split()[:1]}" if name.lower() == "subsystem" else name.lower()

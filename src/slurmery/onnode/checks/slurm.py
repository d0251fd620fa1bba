"""The node in Slurm, read and written with scontrol, which every node has."""

import re
import subprocess

from .consequence import Node, Update

_SECONDS = 10
_FIELD = re.compile(r"^\s+(State|Reason|Comment)=(.*)$", re.MULTILINE)
_STAMP = re.compile(r" \[[^\[\]]*@[^\[\]]*\]$")


def read(name: str) -> Node:
    """The node as Slurm has it now. Raises OSError or subprocess.SubprocessError."""
    return parse(_scontrol("show", "node", name))


def parse(text: str) -> Node:
    """The node of what `scontrol show node` printed."""
    fields = dict(_FIELD.findall(text))
    words = fields.get("State", "").split()[:1]
    states = frozenset(part.rstrip("*~#!%$@^-") for word in words for part in word.split("+"))
    return Node(states, _STAMP.sub("", fields.get("Reason", "")), fields.get("Comment", ""))


def job_comment(job: str) -> str:
    """The comment of a job."""
    fields: dict[str, str] = dict(_FIELD.findall(_scontrol("show", "job", job)))
    return fields.get("Comment", "")


def write(name: str, update: Update) -> None:
    """Carry an update out. Values are arguments of their own: no shell sees them."""
    words = [f"state={update.state}"] if update.state else []
    if update.reason:
        words.append(f"reason={update.reason}")
    if update.comment is not None:
        words.append(f"comment={update.comment}")
    _scontrol("update", f"nodename={name}", *words)


def _scontrol(*words: str) -> str:
    done = subprocess.run(["scontrol", *words], capture_output=True, text=True, timeout=_SECONDS, check=True)
    return done.stdout

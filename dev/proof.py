"""What the workshop shows of a Slurm: commands as users type them, and what came of them."""

import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from dev.kubectl import Kubectl
from dev.refusal import Refusal

READY_SECONDS = 180
_PATH = "/slurm/v0.0.42/ping/"


@dataclass(frozen=True)
class Proof:
    """A command as a user would type it, and what it printed."""

    command: str
    output: str


def ping(kubectl: Kubectl, namespace: str, service: str, token: str) -> Proof:
    """Ask Slurm's REST API, with a token, whether the controllers live."""
    with kubectl.forwarded(f"service/{service}", 6820, f"--namespace={namespace}") as address:
        request = urllib.request.Request(f"http://{address}{_PATH}", headers={"X-SLURM-USER-TOKEN": token})
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            pings = json.load(answer)["pings"]
    lines = "\n".join(f"{each['hostname']}: {each.get('pinged') or each.get('status')}" for each in pings)
    return Proof(f"curl -H X-SLURM-USER-TOKEN:... http://{service}:6820{_PATH}", lines)


def until(what: str, holds: Callable[[], bool], seen: Callable[[], str]) -> None:
    """Wait; the refusal after too long a time ends with what was `seen` then."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            if holds():
                return
            reason = ""
        except Refusal as refusal:
            reason = str(refusal)
        if time.monotonic() > deadline:
            raise Refusal(f"{what}: not after {READY_SECONDS} s. {reason}\n{seen()}")
        time.sleep(0.3)

"""What a worker waits for before slurmd starts, which would give up, and come back later and later.

    python3 -m onnode.worker_init wait-controller [wait-topology]

Environment, with its defaults: CONTROLLER_MAX_ATTEMPTS 60, CONTROLLER_POLL_INTERVAL 5 (seconds),
WORKER_INIT_RANDOM_DELAY_SECONDS 0, TOPOLOGY_WAIT_TIMEOUT 180, TOPOLOGY_POLL_INTERVAL 5,
TOPOLOGY_CONFIGMAP_PATH and K8S_NODE_NAME for the file that says where the machine is in the network.
Without a place in time a worker starts all the same; one without GPUs (NODESET_GPU_ENABLED) has none.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_SLURM_CONF = "/mnt/jail/etc/slurm/slurm.conf"

Step = Callable[[Mapping[str, str]], bool]


def main(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Exit code: 0 when everything that was waited for is there."""
    if unknown := set(arguments) - set(STEPS):
        print(f"worker-init: no step is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    time.sleep(random.uniform(0, _number(environ, "WORKER_INIT_RANDOM_DELAY_SECONDS", 0)))  # noqa: S311
    for step in arguments:
        if not STEPS[step](environ):
            print(f"worker-init: {step}: gave up", file=sys.stderr)
            return 1
    return 0


def _wait_controller(environ: Mapping[str, str]) -> bool:
    attempts = int(_number(environ, "CONTROLLER_MAX_ATTEMPTS", 60))
    return _poll(_controller_answers, attempts, _number(environ, "CONTROLLER_POLL_INTERVAL", 5))


def _wait_topology(environ: Mapping[str, str]) -> bool:
    if environ.get("NODESET_GPU_ENABLED") == "false":
        return True
    place = Path(environ["TOPOLOGY_CONFIGMAP_PATH"], environ["K8S_NODE_NAME"])
    interval = _number(environ, "TOPOLOGY_POLL_INTERVAL", 5)
    attempts = 1 + int(_number(environ, "TOPOLOGY_WAIT_TIMEOUT", 180) / interval)
    if not _poll(place.exists, attempts, interval):
        print(
            f"worker-init: there is no {place}: the worker's place in the network is unknown", file=sys.stderr
        )
    return True


STEPS: Mapping[str, Step] = {"wait-controller": _wait_controller, "wait-topology": _wait_topology}


def _poll(there: Callable[[], bool], attempts: int, interval: float) -> bool:
    for attempt in range(attempts):
        if there():
            return True
        if attempt + 1 < attempts:
            time.sleep(interval)
    return False


def _controller_answers() -> bool:
    done = subprocess.run(
        ["scontrol", "ping"],
        env={**os.environ, "SLURM_CONF": _SLURM_CONF},
        capture_output=True,
        text=True,
        check=False,
    )
    return " is UP" in done.stdout


def _number(environ: Mapping[str, str], name: str, usual: float) -> float:
    return float(environ.get(name) or usual)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The runner: finds out where it is, runs what applies, carries out what follows."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from . import platform, slurm
from .check import CONTEXTS, Check, Job, Scene, applies, checks
from .consequence import Node, after, consequence
from .run import run

# slurmd ends its HealthCheckProgram after a minute, and nobody would learn which check it was that hung.
HEALTH_SECONDS = 50.0
FILE = "/opt/slurm_scripts/checks.json"
SHIPPED = f"{os.path.dirname(os.path.dirname(__file__))}/passive/checks.json"


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Exit code: 1 if a check failed in a prolog, else 0."""
    if not arguments or arguments[0] not in CONTEXTS:
        print(f"say where you run: one of {', '.join(CONTEXTS)}", file=sys.stderr)
        return 0
    try:
        failed = _all(arguments[0], _file(arguments), environment)
    except Exception as error:  # noqa: BLE001 whatever it is, the job must not suffer for it
        print(f"checks: {type(error).__name__}: {error}", file=sys.stderr)
        return 0
    return 1 if failed and arguments[0] == "prolog" else 0


def _file(arguments: Sequence[str]) -> str:
    """The one that was named, else the cluster's own, else the one that comes with these programs."""
    if len(arguments) > 1:
        return arguments[1]
    return FILE if os.path.exists(FILE) else SHIPPED


def _all(context: str, file: str, environment: Mapping[str, str]) -> bool:
    with open(file) as entries:
        todo, faults = checks(json.load(entries))
    for fault in faults:
        print(fault, file=sys.stderr)
    name = environment.get("SLURMD_NODENAME") or os.uname().nodename
    models = platform.gpus()
    tags = platform.tags(models)
    node = slurm.read(name)
    surroundings = {
        **environment,
        "CHECKS_CONTEXT": context,
        "CHECKS_NODE": name,
        "CHECKS_PLATFORM_TAG": min(tags, key=len, default=""),
        "CHECKS_NODE_STATE": "+".join(sorted(node.states)),
    }
    job = _job(len(models), environment) if context != "hc_program" else None
    scene = Scene(context, tags, node.states, surroundings, job)
    failed, began = False, time.monotonic()
    for check in todo:
        hurried = in_time(check, context, time.monotonic() - began)
        if hurried and applies(check, scene):
            node, bad = _one(hurried, scene, name, node)
            failed |= bad
    return failed


def in_time(check: Check, context: str, passed: float) -> Check | None:
    """The check with the time that is left to it; None if there is none. Prologs and epilogs have time."""
    if context != "hc_program":
        return check
    left = HEALTH_SECONDS - passed
    return check._replace(timeout=min(check.timeout, left)) if left >= 1 else None


def _one(check: Check, scene: Scene, name: str, node: Node) -> tuple[Node, bool]:
    """Run one check; the node as it is then, and whether the check failed."""
    try:
        result = run(check, scene.environment)
        if result is None:
            return node, False
        update = consequence(check, result, node, scene.context)
        if update:
            slurm.write(name, update)
            node = after(node, update)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"checks: {check.name}: {error}", file=sys.stderr)
        return node, False
    return node, result.failed


def _job(gpus: int, environment: Mapping[str, str]) -> Job | None:
    number = environment.get("SLURM_JOB_ID")
    if not number:
        return None
    own = [each for each in environment.get("SLURM_JOB_GPUS", "").split(",") if each]
    comment = environment.get("SLURM_JOB_COMMENT")
    return Job(len(own), gpus, slurm.job_comment(number) if comment is None else comment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

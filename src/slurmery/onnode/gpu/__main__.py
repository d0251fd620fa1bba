"""Checks the health of this machine's GPUs and prints the result as JSON.

    python3 -m onnode.gpu [--config FILE] [--expected N] [--no-trial]

Ends with 0 when all is well or there is no GPU, with 1 when a check failed or NVML refuses to answer, with 75
when it could not check.
A sentence for Slurm's drain reason goes to file descriptor 3, if there is one.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..checks.run import UNKNOWN
from . import cuda, kernellog, nvml
from .reading import Device, Machine, Trial
from .thresholds import ThresholdError, Thresholds, parse
from .verdict import Finding, judge

_DETAILS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, try, judge, tell."""
    given = _arguments(arguments)
    details = _inherited(_DETAILS)
    try:
        limits = _limits(given)
        machine = read(limits)
    except nvml.NoGpuError as error:
        return _without(limits, str(error), details)
    except nvml.NvmlError as error:
        print(json.dumps({"status": "failed", "message": str(error)}))
        _tell(details, f"nvml: {error}")
        return 1
    except (OSError, ThresholdError) as error:
        print(json.dumps({"status": "error", "message": str(error)}))
        return UNKNOWN
    findings = judge(machine, limits, time.clock_gettime(time.CLOCK_MONOTONIC))
    failed = [one for one in findings if one.status == "failed"]
    print(json.dumps(report(machine, findings), indent=1))
    _tell(details, "; ".join(f"{one.check}: {one.message}" for one in failed))
    return 1 if failed else 0


def read(limits: Thresholds) -> Machine:
    """What this machine's GPUs say and do."""
    with nvml.opened() as library:
        devices = library.devices()
        driver = library.driver()
    trials = {one.index: _trial(one) for one in devices if not one.lost} if limits.trial else {}
    return Machine(driver, devices, kernellog.xids(kernellog.records()), trials)


def report(machine: Machine, findings: Sequence[Finding]) -> dict[str, object]:
    """The result as JSON tells it."""
    failed = any(one.status == "failed" for one in findings)
    return {
        "status": "failed" if failed else "ok",
        "driver": machine.driver,
        "findings": [dataclasses.asdict(one) for one in findings],
        "devices": [dataclasses.asdict(one) for one in machine.devices],
        "xids": [dataclasses.asdict(one) for one in machine.xids],
        "trials": {
            index: dataclasses.asdict(one) if isinstance(one, Trial) else one
            for index, one in machine.trials.items()
        },
    }


def _trial(device: Device) -> Trial | str:
    try:
        return cuda.attempt(device.bus)
    except cuda.CudaError as error:
        return str(error)


def _without(limits: Thresholds, words: str, details: int | None) -> int:
    """Where GPUs are expected, none at all is the worst finding; elsewhere there is nothing to check."""
    if limits.expected_devices:
        words = f"0 of {limits.expected_devices} GPUs found: {words}"
        print(json.dumps({"status": "failed", "message": words}))
        _tell(details, f"device_count: {words}")
        return 1
    print(json.dumps({"status": "skipped", "message": f"skipped: {words}"}))
    return 0


def _limits(given: argparse.Namespace) -> Thresholds:
    limits = parse(given.config.read_text()) if given.config else Thresholds()
    if given.expected is not None:
        limits = dataclasses.replace(limits, expected_devices=given.expected)
    return dataclasses.replace(limits, trial=limits.trial and not given.no_trial)


def _inherited(number: int) -> int | None:
    """A copy of an open file descriptor; asked before any library opens files of its own."""
    try:
        return os.dup(number)
    except OSError:
        return None


def _tell(details: int | None, words: str) -> None:
    if details is not None:
        with contextlib.suppress(OSError):  # it was open, but not for writing: not meant for us
            os.write(details, words.encode())


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpu-health", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--config", type=Path, help="thresholds, a JSON file")
    parser.add_argument("--expected", type=int, help="how many GPUs there must be")
    parser.add_argument("--no-trial", action="store_true", help="only read, do not compute")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

"""Prints measured figures next to their limits; ends with 1 if a limit is exceeded.

    python -m bench [SUBJECT...]

A subject is a module of this package with a function `figures` that measures and yields them.
"""

import importlib
import math
import os
import platform
import sys
from collections.abc import Iterator

from bench.figure import Figure
from slurmery.kube import logs

SUBJECTS = ("kube", "exporter", "slinky", "nebius", "health")


def main(subjects: list[str]) -> int:
    """Measure and print; the exit code says whether all limits are kept."""
    if unknown := set(subjects) - set(SUBJECTS):
        print(f"no such subject: {', '.join(unknown)}; there are {', '.join(SUBJECTS)}", file=sys.stderr)
        return 2
    logs.configure(logs.Format.PLAIN, "warn")
    print(machine(), flush=True)
    print(f"{'':46}{'measured':>10}{'limit':>12}", flush=True)
    exceeded = 0
    for figure in measured(subjects or list(SUBJECTS)):
        print(line(figure), flush=True)
        exceeded += not figure.kept
    if exceeded:
        print(f"{exceeded} above the limit")
    return 1 if exceeded else 0


def measured(subjects: list[str]) -> Iterator[Figure]:
    """The figures of the subjects, one after the other."""
    for subject in subjects:
        yield from importlib.import_module(f"bench.{subject}").figures()


def line(figure: Figure) -> str:
    """One row of the table."""
    digits = 0 if 10 <= figure.limit < math.inf or figure.limit == 0 else 2
    sign = "≥" if figure.floor else "≤"
    mark = "" if figure.kept else "  EXCEEDED"
    measured, limit = f"{figure.value:,.{digits}f}", f"{sign} {figure.limit:,g}"
    return f"{figure.what:46}{measured:>10}{limit:>12} {figure.unit}{mark}"


def machine() -> str:
    """What was measured on: figures of other machines are other figures."""
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    load = os.getloadavg()[0]
    python = platform.python_version()
    return f"{os.cpu_count()} CPUs, {pages * page / (1 << 30):.0f} GiB, load {load:.1f}, Python {python}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

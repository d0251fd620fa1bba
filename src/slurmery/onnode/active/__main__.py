"""Runs one trial by its name and prints what it found."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from . import cpu, disk, fence, memory
from .outcome import Outcome

TRIALS: Mapping[str, Callable[..., Outcome]] = {
    "cpu-perf": cpu.attempt,
    "mem-perf": memory.attempt,
    "disk-perf": disk.attempt,
    "gpu-fence": fence.attempt,
}


def main(arguments: Sequence[str]) -> int:
    """Exit code: 1 if something is wrong, 2 if the arguments are."""
    if not arguments or arguments[0] not in TRIALS:
        print(f"say what to try: one of {', '.join(TRIALS)}", file=sys.stderr)
        return 2
    outcome = TRIALS[arguments[0]](*map(float, arguments[1:]))
    print(f"{os.uname().nodename} {arguments[0]}: {outcome.words}")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

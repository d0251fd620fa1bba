"""Starting a program: its flags, its log, its run, its end."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

from slurmery import __version__
from slurmery.cli.flags import Foreign, UsageError, read, table
from slurmery.cli.programs import PROGRAMS, Program
from slurmery.cli.usage import usage
from slurmery.kube import logs
from slurmery.kube.errors import KubeError

log = logs.logger("start")

MISUSED = 2
_HELP = {"-h", "--h", "-help", "--help"}


def start(
    program: Program,
    arguments: Sequence[str],
    environ: Mapping[str, str] = os.environ,
    defaults: Mapping[str, str] | None = None,
) -> int:
    """Run a program to its end; the exit status."""
    if _HELP & set(arguments):
        print(usage(program, defaults))
        return 0
    try:
        reading = read(program.settings, arguments, environ, defaults=defaults, elsewhere=elsewhere(program))
    except UsageError as error:
        for problem in error.problems:
            print(f"slurmery {program.name}: {problem}", file=sys.stderr)
        print(f"`slurmery {program.name} --help` lists its flags.", file=sys.stderr)
        return MISUSED
    logs.configure(*reading.settings.log_style, times=reading.settings.log_times)
    for note in reading.notes:
        log.warning("Flag has no effect here", flag=note.flag, reason=note.reason)
    log.info("Starting", program=program.name, version=__version__)
    return _outcome(program, reading.settings)


def elsewhere(program: Program) -> dict[str, Foreign]:
    """The flags of all other programs; a shared name is read as the first of them reads it."""
    found: dict[str, Foreign] = {}
    for other in PROGRAMS:
        for setting in table(other.settings) if other is not program else ():
            for name in setting.names:
                known = found.get(name, Foreign(setting, ()))
                found[name] = known._replace(programs=(*known.programs, other.name))
    return found


def _outcome(program: Program, settings: object) -> int:
    try:
        return program.run(settings) or 0
    except (KubeError, OSError) as error:
        log.error("Stopped", program=program.name, error=str(error))
    except ExceptionGroup as group:
        expected, surprising = group.split((KubeError, OSError))
        if expected:
            log.error("Stopped", program=program.name, error="; ".join(_words(expected)))
        if surprising:
            log.error("Crashed", program=program.name, exc_info=surprising)
    return 1


def _words(group: "ExceptionGroup[Exception]") -> Iterator[str]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _words(error)
        else:
            yield str(error)

"""The command line: the programs that charts start, and the tools that people type.

cyclopts finds the command and reads the tools' own options; what follows a program's name is read as Go
programs read it (docs/decisions/005-go-flags.md). Nothing heavy is imported before it is needed.
"""

import sys
from pathlib import Path

from slurmery.cli.app import app
from slurmery.cli.programs import linked


def main() -> None:
    """The entry point, under its own name or under one of the links."""
    if found := linked(Path(sys.argv[0]).name):
        program, link = found
        sys.exit(program.start(sys.argv[1:], link.defaults))
    app()

"""The tree of commands. Tools and programs are imported when they are called."""

from collections.abc import Callable
from typing import Annotated, Final

from cyclopts import App, Group, Parameter

from slurmery import __version__
from slurmery.cli.programs import PROGRAMS, Program

TOOLS: Final = {
    "version": "Print the version.",
    "crds": "Print the custom resource definitions.\n\n"
    "They are larger than client-side apply can take: kubectl apply --server-side -f -",
    "validate": "Tell everything that is wrong with manifests, without a cluster.\n\n"
    "Manifests of other kinds are left alone. The status is 1 if there are errors or nothing was checked; "
    "warnings alone are no error.",
}


def _starter(program: Program) -> Callable[..., int]:
    def command(*flags: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
        return program.start(flags)

    return command


def _tree() -> App:
    tools = Group("Tools", sort_key=1)
    programs = Group("Programs", help="Each lists its flags with --help.", sort_key=2)
    tree = App(
        name="slurmery",
        help="Slurm clusters on Kubernetes.",
        version=f"slurmery {__version__}",
        help_format="plaintext",
    )
    for name, summary in TOOLS.items():
        tree.command(f"slurmery.cli.tools.{name}:{name}", name=name, help=summary, group=tools)
    for program in PROGRAMS:
        tree.command(
            _starter(program),
            name=program.name,
            help=f"{program.summary}.",
            group=programs,
            # All that follows is the program's to read.
            help_flags=(),
            version_flags=(),
            end_of_options_delimiter="",
        )
    return tree


app: Final = _tree()

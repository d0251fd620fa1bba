"""`make demo`: from nothing to Slurm jobs in a cluster that the operator made, and how to go on.

DOOR says by which API the cluster is described: slinky (the default) or nebius.
"""

import os
import time
from dataclasses import dataclass

from rich.console import Console

from dev import operator
from dev.example import KINDS, NAMESPACE, Example
from dev.jail import JailExample
from dev.progress import Progress
from dev.refusal import Refusal
from dev.target import Target

FAREWELL = """
That was Slurm on Kubernetes, from {example}. To look around:

  {hint}
  kubectl config set-context --current --namespace={namespace}
{commands}
  kubectl --namespace={home} logs deployment/slurmery

To clean up: make down
"""


@dataclass(frozen=True)
class Door:
    """What the demo shows of an API."""

    show: type[Example | JailExample]
    example: str
    commands: str


DOORS = {
    "slinky": Door(
        Example,
        "examples/01-slinky",
        f"""\
  kubectl get {KINDS}
  kubectl exec -it slurm-controller-0 -- bash    # then: sinfo, squeue, srun, sbatch
  kubectl scale nodeset workers --replicas=1     # waits for running jobs""",
    ),
    "nebius": Door(
        JailExample,
        "examples/06-nebius",
        """\
  kubectl get slurmclusters,jailedconfigs
  kubectl exec -it login-0 -- chroot /mnt/jail bash    # as by ssh; then: sinfo, squeue, srun, sbatch""",
    ),
}


def door() -> Door:
    """The one that DOOR names."""
    name = os.environ.get("DOOR") or next(iter(DOORS))
    if name not in DOORS:
        raise Refusal(f"DOOR={name} is not known: choose one of {', '.join(DOORS)}")
    return DOORS[name]


def run(target: Target, release: str) -> None:
    shown = door()
    console = Console(highlight=False)
    began = time.monotonic()
    with Progress(console).shown() as progress:
        kubectl = target.up(release, progress)
        with progress.step("operator") as say:
            operator.install(kubectl, target.helm(), target.registry, target.content(), say)
        example = shown.show(kubectl, target.registry, release)
        with progress.step(f"Slurm {release}") as say:
            example.deploy(say)
    for proof in example.prove():
        console.print(f"\n[bold]$ {proof.command}[/bold]")
        console.print(proof.output, markup=False, soft_wrap=True)
        if proof.command.startswith("srun -N2"):
            console.print(f"[dim]({time.monotonic() - began:.0f} s after the start)[/dim]")
    words = FAREWELL.format(
        example=shown.example,
        commands=shown.commands,
        hint=target.hint(),
        namespace=NAMESPACE,
        home=operator.NAMESPACE,
    )
    console.print(words, markup=False, soft_wrap=True)

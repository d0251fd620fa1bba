"""`make demo`: from nothing to Slurm jobs that ran in Kubernetes, and how to go on from there."""

import time

from rich.console import Console

from dev.progress import Progress
from dev.selftest import NAMESPACE, SelfTest
from dev.target import Target

FAREWELL = """
That was Slurm on Kubernetes. To look around:

  {hint}
  kubectl -n {namespace} get pods -o wide
  kubectl -n {namespace} exec -it slurmctld-0 -- bash    # then: sinfo, squeue, srun, sbatch

To clean up: make down
"""


def run(target: Target, release: str) -> None:
    console = Console(highlight=False)
    began = time.monotonic()
    with Progress(console).shown() as progress:
        kubectl = target.up(release, progress)
        test = SelfTest(kubectl, target.registry, release)
        with progress.step(f"Slurm {release}") as say:
            test.deploy(say)
    for proof in test.prove():
        console.print(f"\n[bold]$ {proof.command}[/bold]")
        console.print(proof.output, markup=False, soft_wrap=True)
        if proof.command.startswith("srun"):
            console.print(f"[dim]({time.monotonic() - began:.0f} s after the start)[/dim]")
    console.print(FAREWELL.format(hint=target.hint(), namespace=NAMESPACE), markup=False, soft_wrap=True)

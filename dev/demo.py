"""`make demo`: from nothing to Slurm jobs in a cluster that the operator made, and how to go on."""

import time

from rich.console import Console

from dev import operator
from dev.example import KINDS, NAMESPACE, Example
from dev.progress import Progress
from dev.target import Target

FAREWELL = """
That was Slurm on Kubernetes, from examples/01-slinky. To look around:

  {hint}
  kubectl config set-context --current --namespace={namespace}
  kubectl get {kinds}
  kubectl exec -it slurm-controller-0 -- bash    # then: sinfo, squeue, srun, sbatch
  kubectl scale nodeset workers --replicas=1     # waits for running jobs
  kubectl --namespace={home} logs deployment/slurmery

To clean up: make down
"""


def run(target: Target, release: str) -> None:
    console = Console(highlight=False)
    began = time.monotonic()
    with Progress(console).shown() as progress:
        kubectl = target.up(release, progress)
        with progress.step("operator") as say:
            operator.install(kubectl, target.helm(), target.registry, target.content(), say)
        example = Example(kubectl, target.registry, release)
        with progress.step(f"Slurm {release}") as say:
            example.deploy(say)
    for proof in example.prove():
        console.print(f"\n[bold]$ {proof.command}[/bold]")
        console.print(proof.output, markup=False, soft_wrap=True)
        if proof.command.startswith("srun"):
            console.print(f"[dim]({time.monotonic() - began:.0f} s after the start)[/dim]")
    words = FAREWELL.format(hint=target.hint(), namespace=NAMESPACE, kinds=KINDS, home=operator.NAMESPACE)
    console.print(words, markup=False, soft_wrap=True)

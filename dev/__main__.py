"""The workshop's commands: python -m dev COMMAND."""

import os
import shutil
import sys
from typing import Annotated, Literal

from cyclopts import App, Parameter

from dev import binaries, checks, cluster, paths, target
from dev import demo as demonstration
from dev.cluster import Cluster
from dev.progress import Progress
from dev.refusal import Refusal
from dev.selftest import SelfTest

app = App(name="dev", help="The embedded Kubernetes of this checkout, its images and the demo.")


@app.command
def up() -> None:
    """Start the cluster, building what is missing. Safe to repeat in any state."""
    this = target.chosen()
    with Progress().shown() as progress:
        this.up(target.release(), progress)
    print(this.hint())


@app.command
def demo() -> None:
    """Run a Slurm cluster and jobs on it, and say how to go on."""
    demonstration.run(target.chosen(), target.release())


@app.command
def selftest() -> None:
    """Prove the cluster: srun, sbatch, sacct and a REST call through a Slurm of plain manifests."""
    this = target.chosen()
    with Progress().shown() as progress:
        test = SelfTest(this.up(target.release(), progress), this.registry, target.release())
        with progress.step("self-test") as say:
            test.deploy(say)
            for proof in test.prove():
                say(proof.command)
    test.remove()


@app.command
def down() -> None:
    """Remove the cluster and everything it made. Binaries and images stay in the cache."""
    target.chosen().down()


@app.command
def build(only: Literal["charts", "controlplane"] | None = None, /) -> None:
    """Build the programs without starting anything.

    Parameters
    ----------
    only
        What the tests of the charts need, or those against a bare API server.
    """
    some = {"charts": binaries.CHARTS, "controlplane": binaries.CONTROL_PLANE}
    absent = binaries.missing(some[only] if only else binaries.ALL)
    if absent:
        checks.disk(cold=True)
    with Progress().shown() as progress:
        cluster.compile_programs(absent, progress)


@app.command
def kubeconfig() -> None:
    """Print the line that points kubectl at the cluster."""
    print(target.chosen().hint())


@app.command
def status() -> None:
    """Say what runs and where it stands."""
    this = Cluster()
    process = this.sandbox.process()
    if process is None:
        print(f"no embedded cluster runs for {paths.ROOT}; `make up` starts one")
        return
    print(f"sandbox pid {process.pid}, folder {this.folder}")
    print(this.kubectl("get", "nodes", "-o", "wide"))
    print(this.kubectl("get", "pods", "-A", "-o", "wide"))


@app.command
def logs(name: str = "", /) -> None:
    """List the logs of the cluster's programs, or print one of them.

    Parameters
    ----------
    name
        For example kube-apiserver or node-0/kubelet.
    """
    folder = Cluster().folder / "logs"
    known = sorted(str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.log"))
    if name and name not in known:
        raise Refusal(f"there is no log {name!r}: choose one of {', '.join(known) or '(none: no cluster)'}")
    if name:
        with (folder / f"{name}.log").open() as file:
            shutil.copyfileobj(file, sys.stdout)
    else:
        print("\n".join(known))


@app.command(name="exec")
def execute(*command: Annotated[str, Parameter(allow_leading_hyphen=True)], node: str | None = None) -> None:
    """Run a command inside the cluster's network, for example: dev exec -- curl http://10.96.0.1.

    Parameters
    ----------
    command
        The command and its arguments.
    node
        The node to run it on, such as node-0; by default beside the control plane.
    """
    line = Cluster().sandbox.enter(*(command or ("bash",)), node=node)
    os.execvp(line[0], line)  # noqa: S606


def main() -> None:
    try:
        app()
    except Refusal as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()

"""Which cluster the demo uses: CLUSTER=embedded (the default), kind or current."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from dev import binaries, images, paths, teardown
from dev.cluster import Cluster, compile_programs
from dev.example import NAMESPACE
from dev.helm import Helm
from dev.kubectl import Kubectl
from dev.progress import Progress
from dev.refusal import Refusal

LOCAL = "localhost/slurmery"
PUBLISHED = "ghcr.io/slurmery"


class Target(Protocol):
    """A cluster that can be made ready to run our images, and left as it was found."""

    registry: str
    """Where its nodes find the images."""

    def up(self, release: str, progress: Progress) -> Kubectl: ...
    def down(self) -> None: ...
    def helm(self) -> Helm: ...
    def content(self) -> str:
        """What the operator's image is made of, where its tag does not tell."""
        ...

    def hint(self) -> str:
        """The shell line that points kubectl at it."""
        ...


class Embedded:
    """The cluster of this checkout (dev.cluster)."""

    registry = LOCAL

    def up(self, release: str, progress: Progress) -> Kubectl:
        Cluster().up(release, progress)
        return Cluster().kubectl

    def down(self) -> None:
        teardown.main()

    def helm(self) -> Helm:
        return Helm(binaries.find("helm"), Cluster().kubeconfig)

    def content(self) -> str:
        return _content()

    def hint(self) -> str:
        folders = [str(binaries.find(program).parent) for program in ("kubectl", "helm")]
        return f"export KUBECONFIG={Cluster().kubeconfig} PATH={':'.join(folders)}:$PATH"


class Current:
    """The cluster that KUBECONFIG or the current context names. Its nodes pull published images."""

    def __init__(self) -> None:
        self.registry = os.environ.get("REGISTRY") or PUBLISHED

    def up(self, release: str, progress: Progress) -> Kubectl:  # noqa: ARG002 - nothing to build here
        kubectl = self._kubectl()
        with progress.step("cluster") as say:
            say("asking the current context")
            answer = kubectl.attempt("get", "--raw", "/readyz", "--request-timeout=10s", seconds=30)
            if answer.returncode:
                where = os.environ.get("KUBECONFIG") or "~/.kube/config"
                reason = (answer.stderr.strip().splitlines() or ["no answer"])[-1]
                raise Refusal(
                    f"the cluster of CLUSTER=current does not answer ({reason}): point KUBECONFIG "
                    f"(now {where}) at a cluster that runs, or leave CLUSTER unset for the embedded one"
                )
        _ensure_helm(progress)
        return kubectl

    def down(self) -> None:
        self._kubectl()("delete", "namespace", NAMESPACE, "--ignore-not-found", seconds=300)
        print(f"the namespace {NAMESPACE} is gone; Slurmery itself stays, `helm list -A` shows it")

    def helm(self) -> Helm:
        return Helm(_helm())

    def content(self) -> str:
        return ""

    def hint(self) -> str:
        return "kubectl already points at it"

    def _kubectl(self) -> Kubectl:
        return Kubectl(_program("kubectl", "install kubectl"))


class Kind:
    """A kind cluster with two workers, for machines with a Docker engine."""

    registry = LOCAL

    def __init__(self) -> None:
        self._name = paths.instance().lower()

    def up(self, release: str, progress: Progress) -> Kubectl:
        docker = _program("docker", "install Docker, or leave CLUSTER unset on a Debian machine")
        kind = _program("kind", "install kind, or leave CLUSTER unset on a Debian machine")
        with progress.step("kind cluster") as say:
            if self._name not in _run(kind, "get", "clusters").split():
                say("creating it")
                roles = "".join(f"- role: {role}\n" for role in ("control-plane", "worker", "worker"))
                config = f"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n{roles}"
                _run(kind, "create", "cluster", "--name", self._name, "--config", "-", stdin=config)
            kubeconfig = self._kubeconfig()
            kubeconfig.parent.mkdir(parents=True, exist_ok=True)
            _run(kind, "export", "kubeconfig", "--name", self._name, "--kubeconfig", str(kubeconfig))
        for image in images.wanted(release, paths.cache() / "images"):
            with progress.step(f"image {image.name}") as say:
                say("building and loading it")
                _run(docker, "build", *images.docker_arguments(image))
                _run(kind, "load", "docker-image", "--name", self._name, image.ref)
        _ensure_helm(progress)
        return Kubectl(_program("kubectl", "install kubectl"), kubeconfig)

    def down(self) -> None:
        _run(_program("kind", "install kind"), "delete", "cluster", "--name", self._name)

    def helm(self) -> Helm:
        return Helm(_helm(), self._kubeconfig())

    def content(self) -> str:
        return _content()

    def hint(self) -> str:
        return f"export KUBECONFIG={self._kubeconfig()}"

    def _kubeconfig(self) -> Path:
        return paths.state() / "kind.kubeconfig"


def chosen() -> Target:
    kinds: dict[str, type[Target]] = {"embedded": Embedded, "current": Current, "kind": Kind}
    name = os.environ.get("CLUSTER") or "embedded"
    if name not in kinds:
        raise Refusal(f"CLUSTER={name} is not known: choose one of {', '.join(kinds)}")
    return kinds[name]()


def release() -> str:
    """The Slurm release, from SLURM; the newest where it is not given."""
    name = os.environ.get("SLURM") or next(iter(images.RELEASES))
    if name not in images.RELEASES:
        raise Refusal(f"SLURM={name} is not known: choose one of {', '.join(images.RELEASES)}")
    return name


def _content() -> str:
    wanted = images.wanted(release(), paths.cache() / "images")
    return next(image.archive.stem for image in wanted if image.name == "slurmery")


def _helm() -> Path:
    """The user's own, of whatever version, else ours."""
    found = shutil.which("helm")
    return Path(found) if found else binaries.find("helm")


def _ensure_helm(progress: Progress) -> None:
    if not _helm().exists():
        compile_programs([binaries.HELM4], progress)


def _program(name: str, remedy: str) -> Path:
    found = shutil.which(name)
    if not found:
        raise Refusal(f"{name} was not found on PATH: {remedy}")
    return Path(found)


def _run(program: Path, *arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, input=stdin, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Refusal(f"{program.name} {' '.join(arguments[:3])} failed: {last}")
    return done.stdout

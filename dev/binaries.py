"""The programs of a cluster, built from pinned Go modules and kept by version.

A program on PATH or in KUBEBUILDER_ASSETS is used instead where its version fits. Everything else is
built once per content of its module folder, under a lock, and moved into the cache only when whole.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dev import files, paths, toolchain
from dev.refusal import Refusal


@dataclass(frozen=True)
class Module:
    """A folder under dev/go: one go.mod, built with one command into one or more programs."""

    folder: str
    path: str
    """The required module that gives the version."""
    packages: dict[str, str]
    """Program name to Go package."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """What the linker tells a program, of its own version as {version}, {major} and {minor}."""

    @property
    def source(self) -> Path:
        return paths.ROOT / "dev/go" / self.folder

    @property
    def version(self) -> str:
        found = re.search(rf"{re.escape(self.path)} v(\S+)", (self.source / "go.mod").read_text())
        assert found, f"{self.folder}/go.mod does not require {self.path}"
        return found[1]

    @property
    def home(self) -> Path:
        """Where the built programs live; another content of the module folder is another home."""
        digest = hashlib.sha256()
        for file in sorted(self.source.iterdir()):
            digest.update(file.read_bytes())
        return paths.cache() / "bin" / f"{self.folder}-{self.version}-{digest.hexdigest()[:8]}"


def _kubernetes(*names: str) -> dict[str, str]:
    return {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}


KUBERNETES = Module(
    folder="kubernetes",
    path="k8s.io/kubernetes",
    packages=_kubernetes(
        "kube-apiserver", "kube-controller-manager", "kubectl", "kube-scheduler", "kubelet", "kube-proxy"
    ),
    stamps={
        f"k8s.io/component-base/version.{name}": value
        for name, value in (("gitVersion", "v{version}"), ("gitMajor", "{major}"), ("gitMinor", "{minor}"))
    },
)
ETCD = Module("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"})
COREDNS = Module("coredns", "github.com/coredns/coredns", {"coredns": "."})
KWOK = Module("kwok", "sigs.k8s.io/kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"})
HELM4 = Module("helm4", "helm.sh/helm/v4", {"helm": "helm.sh/helm/v4/cmd/helm"})
# For tests alone. Its go.mod asks for the same versions as Helm 4's, so that most of it is compiled once.
HELM3 = Module(
    folder="helm3",
    path="helm.sh/helm/v3",
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    # Which Kubernetes `helm template` renders for; unlike Helm 4 it does not find that out.
    stamps={"helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": "36"},
)

CHARTS = (HELM4, HELM3)
CONTROL_PLANE = (ETCD, KUBERNETES, KWOK, *CHARTS)
CLUSTER = (ETCD, KUBERNETES, COREDNS, HELM4)
ALL = (*CLUSTER, KWOK, HELM3)

# How a program is asked for its version, where it is not by --version.
QUESTIONS = {"kubectl": ("version", "--client"), "helm": ("version", "--short")}


def find(name: str, module: Module | None = None) -> Path:
    """The program `name`, which must have been built or be at hand; of two of a name, the newer."""
    module = module or next(m for m in ALL if name in m.packages)
    return _at_hand(module, name) or module.home / name


def missing(modules: Iterable[Module]) -> list[Module]:
    return [m for m in modules if _absent(m)]


def build(module: Module, say: Callable[[str], None]) -> None:
    """Build what is absent of a module."""
    with files.lock(module.home.with_name(f"{module.folder}.lock")):
        names = _absent(module)
        if not names:
            return
        say(f"compiling {', '.join(names)} {module.version}")
        partial = module.home.with_name(f"{module.home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name in names:
            _compile(module, name, partial)
        module.home.mkdir(exist_ok=True)
        for name in names:
            (partial / name).replace(module.home / name)
        shutil.rmtree(partial)


def _compile(module: Module, name: str, folder: Path) -> None:
    command = [
        str(toolchain.go()),
        "build",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        _linker_flags(module),
    ]
    log = paths.cache() / "logs" / f"go-{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        done = subprocess.run(
            [*command, "-o", folder / name, module.packages[name]],
            cwd=module.source,
            env=toolchain.environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        last = log.read_text().strip().splitlines()[-1:] or ["no output"]
        raise Refusal(
            f"{name} {module.version} could not be compiled: {last[0]}. Check that the Go module registry "
            f"answers and that the disk is not full, then run this again; the whole log is {log}"
        )


def _linker_flags(module: Module) -> str:
    major, minor, _ = module.version.split(".")
    own = {"version": module.version, "major": major, "minor": minor}
    stamps = (f"-X {name}={value.format(**own)}" for name, value in module.stamps.items())
    return " ".join(("-s", "-w", *stamps))


def _absent(module: Module) -> list[str]:
    return [n for n in module.packages if not _at_hand(module, n) and not (module.home / n).exists()]


def _at_hand(module: Module, name: str) -> Path | None:
    """The user's own program, if it is of the same minor version as the pinned one."""
    folders = os.environ.get("KUBEBUILDER_ASSETS", ""), os.environ.get("PATH", "")
    for program in filter(None, (shutil.which(name, path=folder) for folder in folders if folder)):
        question = QUESTIONS.get(name, ("--version",))
        printed = subprocess.run([program, *question], capture_output=True, text=True, check=False).stdout
        minor = module.version.rpartition(".")[0]
        if re.search(rf"\b{re.escape(minor)}\.\d", printed.replace("v", " ")):
            return Path(program)
    return None

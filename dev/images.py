"""The container images, built without Docker: images/*/Dockerfile on a base made of Debian packages.

    Debian mirror of this machine ─mmdebstrap─► base.tar ─buildah─► layers ─► one archive per image

An archive's name holds a key of all that goes into it, so an archive that exists is up to date. The work is
done below the cache only, in mount namespaces that end with their processes, one build at a time over all
processes. Whatever kills a build, the next one sweeps up after it and goes on from the layers it finished.
"""

import configparser
import fcntl
import functools
import hashlib
import os
import platform
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import slurmery
from dev import paths
from dev.refusal import Refusal

PACKAGES: tuple[str, ...] = ("buildah", "debian-archive-keyring", "mmdebstrap", "util-linux")
RELEASES = {"26.05": "forky", "24.11": "trixie"}
SUITE = "forky"
"""The Debian suite below images that hold no Slurm."""

KEPT_SECONDS = 24 * 3600
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
BASE_OPTIONS = (
    "--mode=root",
    "--variant=apt",
    "--aptopt=Acquire::Languages none",
    # Mirrors that are frozen in time serve testing past its date; the signature still counts.
    "--aptopt=Acquire::Check-Valid-Until false",
    "--aptopt=Acquire::Retries 3",
    *(
        f"--dpkgopt=path-exclude=/usr/{folder}/*"
        for folder in ("share/doc", "share/info", "share/lintian", "share/locale", "share/man", "lib/*/gconv")
    ),
)


@dataclass(frozen=True)
class Image:
    """An image as nodes know it, and the archive that brings it to them."""

    name: str
    ref: str
    archive: Path


@dataclass(frozen=True)
class _Recipe:
    folder: str
    target: str = ""
    tag: str = ""
    """Images that do not depend on the Slurm release have one of their own."""
    sources: tuple[str, ...] = ()
    """What it takes from the checkout besides its own folder."""

    @property
    def home(self) -> Path:
        return paths.ROOT / "images" / self.folder

    def inputs(self) -> Iterator[Path]:
        for source in (f"images/{self.folder}", *self.sources):
            path = paths.ROOT / source
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file() and "__pycache__" not in file.parts:
                    yield file


_RECIPES = {
    "pause": _Recipe("pause", tag="1"),
    "slurmctld": _Recipe("slurm", target="slurmctld", sources=("images/jail/chroot.c",)),
    "controller_slurmctld": _Recipe(
        "slurm",
        target="controller_slurmctld",
        sources=("images/jail/chroot.c", "images/jail/power", "images/slurmery", "requirements.lock", "src"),
    ),
    **{name: _Recipe("slurm", target=name) for name in ("slurmdbd", "slurmrestd", "login")},
    "slurmd": _Recipe("slurm", target="slurmd", sources=("src/slurmery/onnode",)),
    "worker_slurmd": _Recipe("slurm", target="worker_slurmd", sources=("images/jail", "src/slurmery/onnode")),
    **{
        name: _Recipe("slurm", target=name, sources=("images/jail",))
        for name in ("login_sshd", "populate_jail")
    },
    "munge": _Recipe("munge"),
    "mariadb": _Recipe("mariadb"),
    "slurmery": _Recipe(
        "slurmery",
        tag=slurmery.__version__,
        sources=("src", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"),
    ),
}


def wanted(release: str, cache: Path) -> tuple[Image, ...]:
    """Every image of a Slurm release, in the order that builds fastest."""
    return tuple(_image(name, recipe.tag or release, cache) for name, recipe in _RECIPES.items())


def build(image: Image, say: Callable[[str], None]) -> None:
    """Make the image's archive, unless it is there."""
    if image.archive.exists():
        return
    if absent := [program for program in ("buildah", "mmdebstrap", "unshare") if not shutil.which(program)]:
        raise Refusal(
            f"image {image.ref} cannot be built without {', '.join(absent)}: "
            f"install the Debian packages {' '.join(PACKAGES)}"
        )
    workshop = _Workshop(image, image.archive.parent)
    with workshop.locked(say):
        if image.archive.exists():
            return
        workshop.sweep()
        if not workshop.has_base():
            say(f"making a Debian {_suite(image)} root file system")
            workshop.make_base()
        say("building its layers")
        workshop.make_layers()
        say("writing its archive")
        workshop.make_archive()


def docker_arguments(image: Image) -> list[str]:
    """The same image by `docker build`, on Debian's own base."""
    return _build_arguments(image, f"docker.io/library/debian:{_suite(image)}-slim")


def _image(name: str, tag: str, cache: Path) -> Image:
    ref = f"localhost/slurmery/{name}:{tag}"
    digest = hashlib.sha256(f"{ref} {RELEASES.get(tag, SUITE)} {_architecture()} {BASE_OPTIONS}".encode())
    for file in _RECIPES[name].inputs():
        content = file.read_bytes()
        mode = file.stat().st_mode & 0o111
        digest.update(f"{file.relative_to(paths.ROOT)} {mode} {len(content)}\n".encode() + content)
    return Image(name, ref, cache / f"{name}-{tag}-{digest.hexdigest()[:12]}.tar")


def _suite(image: Image) -> str:
    return RELEASES.get(image.ref.rpartition(":")[2], SUITE)


@functools.cache
def _architecture() -> str:
    command = ["dpkg", "--print-architecture"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _build_arguments(image: Image, base: str) -> list[str]:
    recipe = _RECIPES[image.name]
    target = ["--target", recipe.target] if recipe.target else []
    arguments = ["--build-arg", f"BASE={base}", "--tag", image.ref, *target]
    return [*arguments, "--file", str(recipe.home / "Dockerfile"), str(paths.ROOT)]


class _Workshop:
    """The folders below the cache, and the steps that turn one into the next. For the holder of the lock."""

    def __init__(self, image: Image, cache: Path) -> None:
        self._image = image
        self._cache = cache
        self._partial = cache / "partial.tar"
        self._temporary = cache / "tmp"
        self._runtime = cache / "buildah-run"
        self._log = cache / "logs" / f"{image.name}-{image.ref.rpartition(':')[2]}.log"
        self._suite = _suite(image)
        key = hashlib.sha256(str(BASE_OPTIONS).encode()).hexdigest()[:12]
        name = f"{self._suite}-{_architecture()}-{key}"
        self._base = f"localhost/slurmery/base:{name}"
        self._base_archive = cache / f"base-{name}.tar"
        self._lock = -1

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[None]:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with (self._cache / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another build on this machine")
                fcntl.flock(file, fcntl.LOCK_EX)
            self._lock = file.fileno()
            yield

    def sweep(self) -> None:
        """Remove what a killed build left; keep what package managers downloaded."""
        self._log.unlink(missing_ok=True)
        self._partial.unlink(missing_ok=True)
        shutil.rmtree(self._runtime, ignore_errors=True)
        self._temporary.mkdir(exist_ok=True)
        for path in self._temporary.iterdir():
            if path.name != "buildah-cache":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._run("clean-up", f"delete {self._cache} and run this again", *self._buildah("rm", "--all"))

    def has_base(self) -> bool:
        return self._succeeds(*self._buildah("inspect", "--type", "image", self._base))

    def make_base(self) -> None:
        advice = "check that the Debian mirror answers (apt-get update) and run this again"
        if not self._base_archive.exists():
            source = f"deb [signed-by={KEYRING}] {_mirror()} {self._suite} main"
            command = ["mmdebstrap", *BASE_OPTIONS, self._suite, str(self._partial), source]
            self._run("the Debian root file system", advice, *command)
            self._partial.replace(self._base_archive)
        folder = self._temporary / "base"
        folder.mkdir()
        (folder / "base.tar").hardlink_to(self._base_archive)
        (folder / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        command = self._buildah("bud", "--layers=false", "--tag", self._base, str(folder))
        self._run("the base image", f"delete {self._base_archive} and run this again", *command)

    def make_layers(self) -> None:
        advice = "look for the cause in the log, check that the package mirrors answer, and run this again"
        with self._secrets() as secrets:
            options = ["--isolation", "chroot", "--layers", "--pull-never", *secrets]
            command = self._buildah("bud", *options, *_build_arguments(self._image, self._base))
            self._run("the build of its Dockerfile", advice, *command)

    def make_archive(self) -> None:
        # This format is not compressed, which is right for a file that is read once, on the same machine.
        archive = f"docker-archive:{self._partial}:{self._image.ref}"
        self._run("its archive", "make room on the disk", *self._buildah("push", self._image.ref, archive))
        tag = self._image.ref.rpartition(":")[2]
        self._partial.replace(self._image.archive)
        # Other checkouts may be about to load theirs.
        for old in self._cache.glob(f"{self._image.name}-{tag}-*.tar"):
            if old.stat().st_mtime < time.time() - KEPT_SECONDS:
                old.unlink()

    @contextmanager
    def _secrets(self) -> Iterator[list[str]]:
        """What pip is told on this machine, for the builds that use it. No image keeps it."""
        certificates = os.environ.get("PIP_CERT") or ssl.get_default_verify_paths().cafile
        with tempfile.NamedTemporaryFile("w", dir=self._temporary) as settings:
            settings.write(_pip_settings())
            settings.flush()
            files = {"pip.conf": settings.name, "ca": certificates}
            yield [f"--secret=id={name},src={path}" for name, path in files.items() if path]

    def _buildah(self, *arguments: str) -> list[str]:
        store = ["--root", str(self._cache / "buildah"), "--runroot", str(self._runtime)]
        return ["buildah", *store, "--storage-driver", "overlay", *arguments]

    def _run(self, step: str, advice: str, *command: str) -> None:
        with self._log.open("a") as log:
            log.write(f"--- {step}: {' '.join(command)}\n")
            log.flush()
            code = self._execute(log.fileno(), *command)
        if code:
            raise Refusal(
                f"image {self._image.ref}: {step} failed (exit status {code}): {advice}; "
                f"the whole log is {self._log}"
            )

    def _succeeds(self, *command: str) -> bool:
        return self._execute(subprocess.DEVNULL, *command) == 0

    def _execute(self, output: int, *command: str) -> int:
        # The lock is handed down: it is held until the last process of a killed build is gone.
        return subprocess.run(
            ["unshare", "--mount", *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": str(self._temporary), "HOME": str(self._temporary)},
            pass_fds=(self._lock,),
            check=False,
        ).returncode


def _pip_settings() -> str:
    config = configparser.ConfigParser(interpolation=None)
    config.read(
        ["/etc/pip.conf", Path.home() / ".config/pip/pip.conf", os.environ.get("PIP_CONFIG_FILE", "")]
    )
    lines = ["[global]"]
    for name in ("index-url", "extra-index-url", "trusted-host"):
        variable = f"PIP_{name.replace('-', '_').upper()}"
        value = os.environ.get(variable) or config.get("global", name, fallback="")
        lines += [f"{name} = {' '.join(value.split())}"] if value else []
    return "\n".join([*lines, ""])


def _mirror() -> str:
    """The Debian mirror that this machine's own apt uses."""
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    filters = ("Created-By: Packages", "Component: main", f"Release: {suite}")
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", *filters]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    if not found:
        raise Refusal(
            f"this machine's apt names no mirror of Debian {suite} main: add one to /etc/apt/sources.list.d, "
            "or build the images with docker"
        )
    return found[0]

"""Images are built once per content, whole or not at all, and a failure says which, why and what to do."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dev import images, paths
from dev.images import Image
from dev.refusal import Refusal

# Stands for buildah, mmdebstrap and unshare, whose faults cannot be had from the real ones.
UNSHARE = '#!/bin/sh\nshift\nexec "$@"\n'
MMDEBSTRAP = """#!/bin/sh
echo "mmdebstrap $*"
for word in "$@"; do case $word in *.tar) echo base >"$word" ;; esac; done
"""
BUILDAH = """#!/bin/sh
echo "buildah $*"
case " $* " in
  *" inspect "*) exit 1 ;;
  *" push "*) for last in "$@"; do :; done; file=${last#docker-archive:}; echo image >"${file%%:*}" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what goes into the images, to be changed."""
    copy = tmp_path / "checkout"
    for name in ("images", "src", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        source = paths.ROOT / name
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy(source, copy / name)
    monkeypatch.setattr(paths, "ROOT", copy)
    return copy


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("unshare", UNSHARE), ("mmdebstrap", MMDEBSTRAP), ("buildah", BUILDAH)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setattr(images, "_mirror", lambda: "http://mirror.invalid/debian")
    return folder


def image(name: str, cache: Path, release: str = "26.05") -> Image:
    return next(image for image in images.wanted(release, cache) if image.name == name)


def changed(before: tuple[Image, ...], cache: Path) -> set[str]:
    after = images.wanted("26.05", cache)
    return {new.name for old, new in zip(before, after, strict=True) if old != new}


def test_every_dockerfile_has_an_image(tmp_path: Path) -> None:
    folders = {path.parent.name for path in (paths.ROOT / "images").glob("*/Dockerfile")}
    text = (paths.ROOT / "images/slurm/Dockerfile").read_text()
    stages = {line.split()[-1] for line in text.splitlines() if line.startswith("FROM")}
    targets = stages - {"slurm", "ssh", "chroot", "power", "python", "onnode", "jailed", "jail"}

    assert {image.name for image in images.wanted("26.05", tmp_path)} == folders - {"slurm"} | targets


def test_images_are_named_by_what_they_hold(tmp_path: Path) -> None:
    assert image("slurmctld", tmp_path).ref == "localhost/slurmery/slurmctld:26.05"
    assert image("slurmctld", tmp_path, "24.11").ref == "localhost/slurmery/slurmctld:24.11"
    assert image("pause", tmp_path) == image("pause", tmp_path, "24.11")
    assert image("slurmery", tmp_path) == image("slurmery", tmp_path, "24.11")


def test_only_what_changed_is_built_again(tmp_path: Path, checkout: Path) -> None:
    before = images.wanted("26.05", tmp_path)

    (checkout / "src/slurmery/__pycache__").mkdir(exist_ok=True)
    (checkout / "src/slurmery/__pycache__/x.pyc").touch()
    assert changed(before, tmp_path) == set()
    (checkout / "src/slurmery/new.py").touch()
    assert changed(before, tmp_path) == {"slurmery", "controller_slurmctld"}
    (checkout / "images/mariadb/entrypoint").chmod(0o644)
    assert changed(before, tmp_path) == {"slurmery", "controller_slurmctld", "mariadb"}


def test_docker_builds_the_same_file(tmp_path: Path) -> None:
    arguments = images.docker_arguments(image("slurmd", tmp_path, "24.11"))

    assert "BASE=docker.io/library/debian:trixie-slim" in arguments
    assert arguments[arguments.index("--target") + 1] == "slurmd"
    assert Path(arguments[arguments.index("--file") + 1]).is_file()


def test_a_build_leaves_no_rubbish_but_what_others_may_load(tmp_path: Path, programs: Path) -> None:
    wanted = image("munge", tmp_path)
    others, old = (tmp_path / f"munge-26.05-{number * 12}.tar" for number in "12")
    others.touch()
    old.touch()
    os.utime(old, (0, 0))
    (tmp_path / "partial.tar").write_text("half an image")
    (tmp_path / "tmp/left/over").mkdir(parents=True)
    (tmp_path / "tmp/buildah-cache").mkdir()

    images.build(wanted, lambda _: None)

    assert wanted.archive.read_text() == "image\n"
    assert set(tmp_path.glob("munge-*.tar")) == {wanted.archive, others}
    assert not (tmp_path / "partial.tar").exists()
    assert not (tmp_path / "tmp/left").exists()
    assert (tmp_path / "tmp/buildah-cache").exists(), "what apt and pip fetched is worth keeping"


def test_an_archive_that_is_there_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    wanted = Image("munge", "localhost/slurmery/munge:26.05", tmp_path / "munge.tar")
    wanted.archive.touch()

    images.build(wanted, pytest.fail)


@pytest.mark.parametrize(
    ("program", "text", "sentence"),
    [
        ("mmdebstrap", "exit 100", "Debian root file system failed .* mirror answers"),
        (
            "buildah",
            'case "$*" in *--layers\\ *) exit 2 ;; *inspect*) exit 1 ;; esac',
            "build of its Dockerfile failed",
        ),
        (
            "buildah",
            'case "$*" in *push*) exit 1 ;; *inspect*) exit 1 ;; esac',
            "archive failed .* make room",
        ),
    ],
)
def test_a_failed_step_is_one_sentence_with_a_log(
    tmp_path: Path, programs: Path, program: str, text: str, sentence: str
) -> None:
    wanted = image("munge", tmp_path)
    (programs / program).write_text(f"#!/bin/sh\necho the cause\n{text}\n")

    with pytest.raises(Refusal, match=f"^image localhost/slurmery/munge:26.05: .*{sentence}") as refusal:
        images.build(wanted, lambda _: None)
    log = Path(str(refusal.value).rpartition(" ")[2])
    assert log.parent == tmp_path / "logs"
    assert "the cause" in log.read_text()
    assert not wanted.archive.exists()


def test_missing_programs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = image("munge", tmp_path)
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(
        Refusal, match=r"without buildah, mmdebstrap, unshare: install the Debian packages buildah"
    ):
        images.build(wanted, lambda _: None)


def test_a_machine_without_a_debian_mirror_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"VERSION_CODENAME": "noble"})

    with pytest.raises(Refusal, match="no mirror of Debian noble main"):
        images._mirror()


def test_a_killed_build_keeps_the_lock_until_its_last_process_is_gone(tmp_path: Path, programs: Path) -> None:
    """Two builds in one store would spoil it, and the one whose parent was killed still runs."""
    (programs / "buildah").write_text(
        f"#!/bin/sh\ntouch {tmp_path}/running\nsleep 1\ntouch {tmp_path}/ended\n"
    )
    code = """
import sys, pathlib
from dev import images
images.build(images.wanted("26.05", pathlib.Path(sys.argv[1]))[0], print)
"""
    first = subprocess.Popen([sys.executable, "-c", code, tmp_path], cwd=paths.ROOT)
    while not (tmp_path / "running").exists():
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (programs / "buildah").write_text(BUILDAH)
    heard: list[str] = []

    images.build(image("munge", tmp_path), heard.append)
    assert (tmp_path / "ended").exists()
    assert heard[0] == "waiting for another build on this machine"


def test_pip_in_a_build_uses_this_machines_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "a\nb")

    assert "index-url = https://index.invalid/simple\n" in images._pip_settings()
    assert "trusted-host = a b\n" in images._pip_settings()

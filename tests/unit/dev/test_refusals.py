"""Bad input gets one sentence that says what to do, and leaves nothing half made."""

import os
import shutil
import socket
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from dev import binaries, checks, packages, paths, target
from dev.progress import Progress
from dev.refusal import Refusal

Usage = namedtuple("Usage", "total used free")


def test_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(Refusal, match=r"needs root.*sudo make"):
        checks.machine()


def test_not_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "read_text", lambda _: 'ID=alpine\nPRETTY_NAME="Alpine Linux"\n')

    with pytest.raises(Refusal, match="needs Debian 12 or newer"):
        checks.machine()


def test_no_dpkg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)

    with pytest.raises(Refusal, match="no Debian"):
        packages.missing(("containerd",))


def test_disk_nearly_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100, 99, 1 << 30))

    with pytest.raises(Refusal, match=r"1\.0 GiB free and 12 GiB are needed.*XDG_CACHE_HOME"):
        checks.disk(cold=True)


def test_port_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with pytest.raises(Refusal, match=f"port {port} .* choose another with PORT="):
            checks.listener(port)


def test_unknown_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER", "minikube")

    with pytest.raises(Refusal, match="choose one of embedded, current, kind"):
        target.chosen()


def test_kubeconfig_pointing_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\necho 'the connection was refused' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    monkeypatch.setenv("CLUSTER", "current")

    with pytest.raises(Refusal, match=r"point KUBECONFIG \(now /nowhere/config\) at a cluster that runs"):
        target.chosen().up("26.05", Progress())


def test_dead_module_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    go = tmp_path / "go"
    go.write_text(
        "#!/bin/sh\n[ $1 = version ] && { echo go1.26.1; exit; }\necho 'dial tcp: refused'\nexit 1\n"
    )
    go.chmod(0o755)

    with pytest.raises(Refusal, match=r"etcd .* could not be compiled: dial tcp: refused"):
        binaries.build(binaries.ETCD, print)
    assert not binaries.ETCD.home.exists()


def test_a_refusal_is_one_line_and_a_failure_for_the_shell() -> None:
    command = [sys.executable, "-m", "dev", "up"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=paths.ROOT,
        env=os.environ | {"CLUSTER": "x"},
    )

    assert done.returncode == 1
    assert done.stderr.startswith("error: CLUSTER=x is not known")
    assert "Traceback" not in done.stderr

from pathlib import Path

import pytest

from dev import binaries, paths


def program(folder: Path, name: str, version: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'Kubernetes {version}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_program_of_the_same_minor_version_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = program(tmp_path / "assets", "kube-apiserver", "v1.36.0")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))

    assert binaries.find("kube-apiserver") == own


def test_one_of_another_version_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "assets", "kube-apiserver", "v1.30.6")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))

    assert binaries.find("kube-apiserver") == binaries.KUBERNETES.home / "kube-apiserver"
    assert binaries.KUBERNETES in binaries.missing([binaries.KUBERNETES])


def test_versions_come_from_the_go_modules() -> None:
    assert binaries.KUBERNETES.version.startswith("1.36.")
    assert binaries.ETCD.version.startswith("3.6.")


def test_another_content_is_another_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "dev/go/etcd"
    source.mkdir(parents=True)
    (source / "go.mod").write_text("require go.etcd.io/etcd/server/v3 v3.6.5\n")
    before = binaries.ETCD.home
    monkeypatch.setattr(paths, "ROOT", tmp_path)

    assert binaries.ETCD.home != before


def test_both_helms_are_found_by_their_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert binaries.find("helm") == binaries.HELM4.home / "helm"
    assert binaries.find("helm", binaries.HELM3) == binaries.HELM3.home / "helm"
    assert binaries.HELM3.version.startswith("3.")

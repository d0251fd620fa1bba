"""Volumes and mounts of the pods: files projected from Secrets and ConfigMaps, and scratch space."""

from collections.abc import Sequence
from typing import Any

from slurmery.api.slinky.shared import ConfigMapKeyRef, SecretKeyRef


def secret_file(ref: SecretKeyRef, path: str) -> dict[str, Any]:
    """One key of a Secret as a file; a source of `projected`."""
    return {"secret": _one_file(ref, path)}


def config_map_file(ref: ConfigMapKeyRef, path: str) -> dict[str, Any]:
    """One key of a ConfigMap as a file; a source of `projected`."""
    return {"configMap": _one_file(ref, path)}


def config_map_files(name: str) -> dict[str, Any]:
    """Every key of a ConfigMap as a file; a source of `projected`."""
    return {"configMap": {"name": name}}


def projected(name: str, sources: Sequence[dict[str, Any]], mode: int) -> dict[str, Any]:
    """A volume of files; `mode` is theirs unless they have their own."""
    return {"name": name, "projected": {"defaultMode": mode, "sources": list(sources)}}


def scratch(name: str) -> dict[str, Any]:
    """A volume on the node's disk that goes with the pod."""
    return {"name": name, "emptyDir": {}}


def memory(name: str) -> dict[str, Any]:
    """A volume in memory that goes with the pod."""
    return {"name": name, "emptyDir": {"medium": "Memory"}}


def claimed(name: str, claim: str) -> dict[str, Any]:
    """A volume of a PersistentVolumeClaim."""
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def mount(name: str, path: str) -> dict[str, Any]:
    """Where a container finds a volume."""
    return {"name": name, "mountPath": path}


def read_only(name: str, path: str, sub_path: str = "") -> dict[str, Any]:
    """Where a container finds a volume, or one file of it, that it must not change."""
    mounted = {**mount(name, path), "readOnly": True}
    return {**mounted, "subPath": sub_path} if sub_path else mounted


def _one_file(ref: SecretKeyRef | ConfigMapKeyRef, path: str) -> dict[str, Any]:
    source: dict[str, Any] = {"name": ref.name, "items": [{"key": ref.key, "path": path}]}
    return source if ref.optional is None else {**source, "optional": ref.optional}

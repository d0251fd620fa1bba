"""The AppArmor profile of login nodes and workers: everything but changes to the GPU driver of the host."""

from typing import Final

from slurmery.kube.desired import Desired
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.kinds import APP_ARMOR_PROFILES

_ALLOWED: Final = (
    *("file", "mount", "capability", "network", "dbus", "pivot_root", "remount", "ptrace", "signal"),
    *("umount", "unix", "/** rwlix"),
)
_LIBRARY_DIRS: Final = (
    "/usr/lib",
    "/lib",
    "/usr/local/lib",
    "/usr/local/nvidia/lib",
    "/usr/local/nvidia/lib64",
)
_LIBRARIES: Final = (
    *("libGLES*", "libGLX_nvidia*", "libnvcuvid*", "gbm/nvidia-*", "nvidia/wine/*nvngx.dll"),
    *("nvidia/xorg/*", "vdpau/libvdpau_nvidia*", "libnvidia-*.so.*", "libcuda.so.*", "libcudadebugger.so.*"),
)
_PROGRAMS: Final = (
    *("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nv-fabricmanager"),
    *("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
)
_FIRMWARE: Final = "/lib/firmware/nvidia/**/gsp*.bin"


def app_armor_profile(cluster: Cluster) -> Desired:
    """The profile, for the security-profiles-operator to load."""
    name = cluster.names.app_armor_profile
    manifest = {
        "apiVersion": APP_ARMOR_PROFILES.api_version,
        "kind": APP_ARMOR_PROFILES.kind,
        "metadata": {"name": name, "namespace": cluster.names.namespace},
        "spec": {"policy": _policy(name)},
    }
    return Desired(APP_ARMOR_PROFILES, manifest)


def _policy(name: str) -> str:
    denied = [
        *(f"{directory}/**{library}" for directory in _LIBRARY_DIRS for library in _LIBRARIES),
        *(f"/usr/bin/{program}" for program in _PROGRAMS),
        _FIRMWARE,
    ]
    lines = [
        "#include <tunables/global>",
        f"profile {name} flags=(attach_disconnected,mediate_deleted) {{",
        "  #include <abstractions/base>",
        *(f"  {rule}," for rule in _ALLOWED),
        *(f"  deny {path} w," for path in denied),
        "}",
        "",
    ]
    return "\n".join(lines)

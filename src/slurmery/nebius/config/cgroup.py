"""cgroup.conf: what jobs are confined by."""

import re
from typing import Final

from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.slurmconf.text import entry, raw

_ALWAYS: Final = (
    ("CgroupMountpoint", "/sys/fs/cgroup"),
    ("ConstrainCores", "yes"),
    ("ConstrainDevices", "yes"),
    ("ConstrainRAMSpace", "yes"),
)
_BY_VERSION: Final = {
    "v1": (("CgroupPlugin", "cgroup/v1"), ("ConstrainSwapSpace", "yes")),
    "v2": (
        ("CgroupPlugin", "cgroup/v2"),
        ("ConstrainSwapSpace", "no"),
        ("EnableControllers", "yes"),
        ("IgnoreSystemd", "yes"),
    ),
}
_BANNER: Final = ("###", "# Settings of this cluster's own", "###")
_KEY: Final = re.compile(r"\s*([^#=\s]+)\s*=.*")


def version(cluster: Cluster) -> str:
    """The version of cgroups on the hosts."""
    worker = cluster.spec.slurm_nodes.worker
    return worker.cgroup_version if worker else cluster.spec.cgroup_version


def cgroup_conf(cluster: Cluster) -> str:
    """The file; of what the user sets, our own line is left out."""
    custom = [line for line in raw("customCgroupConfig", cluster.spec.custom_cgroup_config) if line.strip()]
    theirs = {match[1].lower() for line in custom if (match := _KEY.fullmatch(line))}
    ours = [*_ALWAYS, *_BY_VERSION[version(cluster)]]
    header = () if cluster.is_1_22 else words.MANAGED
    kept = [entry(key, setting) for key, setting in ours if key.lower() not in theirs]
    return words.file([*header, *kept, *((*_BANNER, *custom) if custom else ())])

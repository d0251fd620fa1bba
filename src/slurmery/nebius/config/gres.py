"""gres.conf: GPUs are detected; NodeSets may declare more."""

from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import nodes, words
from slurmery.slurmconf.text import entry


def gres_conf(cluster: Cluster) -> str:
    """The file."""
    if cluster.is_1_22:
        detected = [entry("AutoDetect", "nvml")] if cluster.gpu else []
        return words.file([words.comment("Gres"), *detected])
    detected = [entry("AutoDetect", "nvidia")] if cluster.gpu else []
    return words.file([*words.MANAGED, words.comment("Gres"), *detected, *nodes.gres_lines(cluster)])

"""Which Slurm a cluster runs, as far as the tag of slurmctld's image tells.

Tags that do: `26.05`, `24.11.6-trixie`, `5.0.1-noble-slurm25.11.2`.
"""

import re
from typing import Final

from slurmery.nebius.cluster import Cluster

_TAG: Final = re.compile(r":(?:[^/]*slurm-?)?(2\d)\.(\d\d)(?!\d)[^/]*$")

_PLAIN: Final = re.compile(r":2\d\.\d\d(?!\d)[^/]*$")


def knows(cluster: Cluster, since: tuple[int, int]) -> bool:
    """Whether its Slurm is of that release or a later one; where the tag does not tell, it is."""
    found = _TAG.search(_reference(cluster))
    return found is None or (int(found[1]), int(found[2])) >= since


def released(cluster: Cluster) -> bool:
    """Whether it is Slurm as it was released; upstream's own builds know more."""
    return _PLAIN.search(_reference(cluster)) is not None


def _reference(cluster: Cluster) -> str:
    return cluster.spec.slurm_nodes.controller.slurmctld.image.partition("@")[0]

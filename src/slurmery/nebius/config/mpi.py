"""mpi.conf: the environment of PMIx."""

from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.slurmconf.text import entry


def mpi_conf(cluster: Cluster) -> str:
    """The file."""
    env = cluster.spec.mpi_config.pmix_env
    header = () if cluster.is_1_22 else words.MANAGED
    return words.file([*header, words.comment("MPI"), *([entry("PMIxEnv", env)] if env else ())])

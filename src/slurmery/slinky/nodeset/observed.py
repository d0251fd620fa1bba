"""What the pods of a NodeSet depend on, beside the NodeSet itself."""

from dataclasses import dataclass

from slurmery.api.slinky import Controller


@dataclass(frozen=True)
class Observed:
    """The cluster that the workers join; a hash is None if what it is of does not exist.

    `gres_conf` is the file that the Controller's configFileRefs bring, None if they bring none; `domain` is
    that of the Kubernetes cluster's DNS.
    """

    controller: Controller
    slurm_key_hash: str | None = None
    sssd_conf_hash: str | None = None
    gres_conf: str | None = None
    domain: str = "cluster.local"

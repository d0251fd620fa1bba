"""The part of slurm.conf that is about accounting and tokens."""

from collections.abc import Iterator

from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config.words import GAP, comment
from slurmery.nebius.ports import port
from slurmery.slurmconf.text import entry

Pairs = list[tuple[str, str | int | None]]


def accounting_lines(cluster: Cluster) -> Iterator[str]:
    """Where jobs are accounted for, and that tokens are taken where there is a REST API."""
    if cluster.spec.slurm_nodes.accounting.enabled:
        yield GAP
        yield comment("ACCOUNTING")
        yield from _storage(cluster)
        yield from (entry(key, value) for key, value in _gathering(cluster) if value not in ("", None))
    if cluster.spec.slurm_nodes.rest.enabled:
        yield from jwt_lines(names.SLURMCTLD_SPOOL)


def jwt_lines(spool: str) -> Iterator[str]:
    """That a daemon takes tokens; its image puts the key into its spool directory."""
    yield GAP
    yield comment("REST API")
    yield entry("AuthAltTypes", "auth/jwt")
    yield entry("AuthAltParameters", f"jwt_key={spool}/{names.JWT_HS256_FILE}")


def _storage(cluster: Cluster) -> Iterator[str]:
    at = cluster.names
    yield entry("AccountingStorageType", "accounting_storage/slurmdbd")
    yield entry("AccountingStorageHost", at.fqdn(at.accounting_service))
    yield entry("AccountingStoragePort", port(cluster.spec.slurm_nodes.accounting.slurmdbd, names.SLURMDBD))
    yield entry("JobCompType", "jobcomp/none")


def _gathering(cluster: Cluster) -> Pairs:
    given = cluster.spec.slurm_nodes.accounting.slurm_config
    return [
        ("AccountingStorageTRES", given.accounting_storage_tres),
        ("AccountingStoreFlags", given.accounting_store_flags),
        ("AcctGatherInterconnectType", given.acct_gather_interconnect_type),
        ("AcctGatherFilesystemType", given.acct_gather_filesystem_type),
        ("AcctGatherProfileType", given.acct_gather_profile_type),
        ("JobAcctGatherType", given.job_acct_gather_type),
        ("JobAcctGatherFrequency", given.job_acct_gather_frequency),
        ("JobAcctGatherParams", given.job_acct_gather_params),
        ("PriorityWeightAge", given.priority_weight_age),
        ("PriorityWeightFairshare", given.priority_weight_fairshare),
        ("PriorityWeightQOS", given.priority_weight_qos),
        ("PriorityWeightTRES", given.priority_weight_tres),
    ]

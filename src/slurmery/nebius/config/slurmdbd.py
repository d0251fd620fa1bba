"""slurmdbd.conf, with the keys and in the order of the contract. It holds the database password."""

from collections.abc import Mapping

from slurmery.api.nebius.accounting import ExternalDb, SlurmdbdConfig
from slurmery.nebius import names
from slurmery.nebius.cluster import Cluster
from slurmery.nebius.config import words
from slurmery.nebius.config.accounting import jwt_lines
from slurmery.nebius.errors import SecretError, SpecError
from slurmery.nebius.ports import port
from slurmery.slurmconf.text import entry

Content = Mapping[str, bytes]


def slurmdbd_conf(cluster: Cluster, password: str | None) -> str:
    """The file; without a password slurmdbd logs in with none."""
    given = cluster.spec.slurm_nodes
    accounting = given.accounting
    lines = [
        entry("AuthType", "auth/munge"),
        entry("SlurmUser", "root"),
        entry("LogFile", "/dev/null"),
        entry("PidFile", "/var/run/slurmdbd.pid"),
        entry("DbdHost", names.ACCOUNTING),
        entry("DbdPort", port(accounting.slurmdbd, names.SLURMDBD)),
        entry("StorageLoc", names.DATABASE),
        entry("StorageType", "accounting_storage/mysql"),
        *([entry("StoragePass", password)] if password else ()),
        *_storage(cluster),
        *(jwt_lines(names.SLURMDBD_SPOOL) if given.rest.enabled else ()),
        *_parameters(accounting.slurmdbd_config),
    ]
    return words.file(lines)


def database(cluster: Cluster) -> tuple[str, int]:
    """Host and port of the database."""
    accounting = cluster.spec.slurm_nodes.accounting
    if accounting.external_db.enabled:
        return accounting.external_db.host, accounting.external_db.port or names.MYSQLD.port
    return cluster.names.database, port(accounting.mariadb_operator, names.MYSQLD)


def database_password(cluster: Cluster, content: Content | None) -> str | None:
    """The password out of the Secret that the spec names; None if it names none."""
    external = cluster.spec.slurm_nodes.accounting.external_db
    if not external.enabled:
        return _password(names.MARIADB_PASSWORD, names.PASSWORD_KEY, content)
    ref = external.password_secret_key_ref
    return _password(ref.name, ref.key, content) if ref and ref.name else None


def client_certificate(secret: str, content: Content | None) -> None:
    """Refuse a Secret that slurmdbd could not show to the database."""
    for key in (names.TLS_CERTIFICATE, names.TLS_KEY):
        if not (content or {}).get(key):
            raise SecretError(f"Secret {secret}, of externalDB.tls.clientCertSecretRef, needs the key {key}")


def _password(secret: str, key: str, content: Content | None) -> str:
    if not content:
        raise SecretError(f"Secret {secret}, with the password of the database, does not exist or is empty")
    if key not in content:
        raise SecretError(f"Secret {secret}, with the password of the database, has no key {key!r}")
    # Files that people make Secrets of end in a line break, which is never part of the password.
    password = content[key].decode(errors="replace").rstrip("\r\n")
    if not password:
        raise SecretError(f"Secret {secret}: the password under the key {key!r} is empty")
    return password


def _storage(cluster: Cluster) -> list[str]:
    accounting = cluster.spec.slurm_nodes.accounting
    if accounting.external_db.enabled:
        return _external(cluster, accounting.external_db)
    return [entry("StorageUser", names.DATABASE_USER), *_address(cluster)]


def _address(cluster: Cluster) -> list[str]:
    host, number = database(cluster)
    return [entry("StorageHost", host), entry("StoragePort", number)]


def _external(cluster: Cluster, external: ExternalDb) -> list[str]:
    for field, given in (("user", external.user), ("host", external.host)):
        if not given:
            raise SpecError(f"slurmNodes.accounting.externalDB.{field} is missing")
    parameters = dict(external.storage_parameters)
    if external.tls and external.tls.server_ca_secret_ref:
        parameters["SSL_CA"] = f"{names.DATABASE_CA_DIR}/{names.CA_CERTIFICATE}"
    if external.tls and external.tls.client_cert_secret_ref:
        parameters["SSL_CERT"] = f"{names.DATABASE_CLIENT_DIR}/{names.TLS_CERTIFICATE}"
        parameters["SSL_KEY"] = f"{names.DATABASE_CLIENT_DIR}/{names.TLS_KEY}"
    field = "externalDB.storageParameters"
    pairs = [f"{words.word(field, key)}={words.word(field, parameters[key])}" for key in sorted(parameters)]
    return [
        entry("StorageUser", external.user),
        *_address(cluster),
        *([entry("StorageParameters", ",".join(pairs))] if pairs else ()),
    ]


def _parameters(given: SlurmdbdConfig) -> list[str]:
    pairs: list[tuple[str, str | int]] = [
        ("ArchiveEvents", given.archive_events),
        ("ArchiveJobs", given.archive_jobs),
        ("ArchiveResvs", given.archive_resvs),
        ("ArchiveSteps", given.archive_steps),
        ("ArchiveSuspend", given.archive_suspend),
        ("ArchiveTXN", given.archive_txn),
        ("ArchiveUsage", given.archive_usage),
        ("DebugLevel", given.debug_level),
        ("TCPTimeout", given.tcp_timeout),
        ("PurgeEventAfter", given.purge_event_after),
        ("PurgeJobAfter", given.purge_job_after),
        ("PurgeResvAfter", given.purge_resv_after),
        ("PurgeStepAfter", given.purge_step_after),
        ("PurgeSuspendAfter", given.purge_suspend_after),
        ("PurgeTXNAfter", given.purge_txn_after),
        ("PurgeUsageAfter", given.purge_usage_after),
        ("PrivateData", given.private_data),
        ("DebugFlags", given.debug_flags or ""),
    ]
    return [entry(key, value) for key, value in pairs if value != ""]

"""Accounting of a SlurmCluster: slurmdbd, its configuration and its database."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from slurmery.api.fields import Int32, StringMap, absent
from slurmery.api.nebius.containers import NodeContainer, SlurmNode
from slurmery.api.nebius.mariadb import MariaDbOperator
from slurmery.api.resource import Model

YesNo: TypeAlias = Literal["yes", "no"]
NotNegative = Annotated[int, Field(ge=0)]
_TRES = "Billing|CPU|Mem|VMem|Node|Energy|Pages|FS/Disk|FS/Lustre|Gres/gpu"


class SecretKeyRef(Model):
    """A key of a Secret in the same namespace."""

    name: str = absent("")
    """Name of the Secret."""
    key: str = absent("")
    """Key in the Secret."""


class ExternalTls(Model):
    """TLS towards the database."""

    server_ca_secret_ref: Annotated[str, Field(alias="serverCASecretRef")] = absent("")
    """Secret whose `ca.crt` the certificate of the server is checked with."""
    client_cert_secret_ref: str = absent("")
    """Secret whose `tls.crt` and `tls.key` slurmdbd shows to the server."""


class ExternalDb(Model):
    """A database that runs somewhere else."""

    enabled: bool = False
    """Whether it is used."""
    host: str = absent("")
    """Host name of the server."""
    port: Int32 = 3306
    """Port of the server."""
    user: str = absent("")
    """User to log in as."""
    password_secret_key_ref: SecretKeyRef | None = None
    """Where the password is."""
    tls: ExternalTls | None = None
    """TLS towards the database."""
    storage_parameters: StringMap = absent({})
    """StorageParameters of slurmdbd.conf; SSL_CA, SSL_CERT and SSL_KEY come from `tls`, where that is
    given."""


class SlurmdbdConfig(Model):
    """Parameters of slurmdbd.conf; each is described in Slurm's manual under the same name."""

    archive_events: YesNo = "yes"
    """Whether events are archived when they are purged."""
    archive_jobs: YesNo = "yes"
    """Whether jobs are archived when they are purged."""
    archive_resvs: YesNo = "yes"
    """Whether reservations are archived when they are purged."""
    archive_steps: YesNo = "no"
    """Whether job steps are archived when they are purged."""
    archive_suspend: YesNo = "no"
    """Whether suspensions are archived when they are purged."""
    archive_txn: Annotated[YesNo, Field(alias="archiveTXN")] = "no"
    """Whether transactions are archived when they are purged."""
    archive_usage: YesNo = "yes"
    """Whether usage is archived when it is purged."""
    debug_level: Literal[
        "quiet", "fatal", "error", "info", "verbose", "debug", "debug2", "debug3", "debug4", "debug5"
    ] = "info"
    """How much slurmdbd logs."""
    debug_flags: (
        Literal[
            "AuditRPCs",
            "DB_ARCHIVE",
            "DB_ASSOC",
            "DB_EVENT",
            "DB_JOB",
            "DB_QOS",
            "DB_QUERY",
            "DB_RESERVATION",
            "DB_RESOURCE",
            "DB_STEP",
            "DB_TRES",
            "DB_USAGE",
            "Network",
        ]
        | None
    ) = None
    """One subsystem that logs more."""
    tcp_timeout: NotNegative = 2
    """Seconds that a connection may take."""
    purge_event_after: str = "1month"
    """Age at which events are purged, e.g. 12hours, 30days or 1month."""
    purge_job_after: str = "12month"
    """Age at which jobs are purged."""
    purge_resv_after: str = "1month"
    """Age at which reservations are purged."""
    purge_step_after: str = "1month"
    """Age at which job steps are purged."""
    purge_suspend_after: str = "1month"
    """Age at which suspensions are purged."""
    purge_txn_after: Annotated[str, Field(alias="purgeTXNAfter")] = "12month"
    """Age at which transactions are purged."""
    purge_usage_after: str = "24month"
    """Age at which usage is purged."""
    private_data: str = absent("")
    """What ordinary users cannot see of others, separated by commas."""


class AccountingSlurmConfig(Model):
    """Parameters of slurm.conf that accounting needs; each is described in Slurm's manual under the same
    name."""

    accounting_storage_tres: Annotated[
        str, Field(alias="accountingStorageTRES", pattern=f"^(({_TRES}),?)+$")
    ] = "CPU,Mem,Node,VMem,Gres/gpu"
    """Resources to account for, separated by commas."""
    accounting_store_flags: str = absent("")
    """Further fields to store, separated by commas."""
    acct_gather_interconnect_type: str = absent("")
    """Plugin that gathers network use."""
    acct_gather_filesystem_type: str = absent("")
    """Plugin that gathers file system use."""
    acct_gather_profile_type: str = absent("")
    """Plugin that gathers profiles of jobs."""
    job_acct_gather_type: Literal["jobacct_gather/linux", "jobacct_gather/cgroup", "jobacct_gather/none"] = (
        absent("jobacct_gather/none")
    )
    """Plugin that gathers what jobs use. When absent: jobacct_gather/cgroup in a cluster with
    slurmNodes.worker (as in 1.22), else jobacct_gather/none (as in 5.0)."""
    job_acct_gather_frequency: int = 0
    """Seconds between two samples; 0 samples only at the end."""
    job_acct_gather_params: Literal["NoShared", "UsePss", "OverMemoryKill", "DisableGPUAcct"] | None = None
    """How memory and GPUs are counted."""
    priority_weight_age: NotNegative = 0
    """Weight of the waiting time in the priority of a job."""
    priority_weight_fairshare: NotNegative = 0
    """Weight of the fair share in the priority of a job."""
    priority_weight_qos: Annotated[NotNegative, Field(alias="priorityWeightQOS")] = 0
    """Weight of the quality of service in the priority of a job."""
    priority_weight_tres: Annotated[str, Field(alias="priorityWeightTRES")] = absent("")
    """Weights of the requested resources in the priority of a job, e.g. CPU=1000,GRES/gpu=3000."""


class Accounting(SlurmNode):
    """Slurm's database daemon, slurmdbd, and its database."""

    enabled: bool = False
    """Whether jobs are accounted for."""
    slurmdbd: NodeContainer | None = None
    """The container that runs slurmdbd."""
    munge: NodeContainer | None = None
    """The container that runs munge."""
    external_db: Annotated[ExternalDb, Field(alias="externalDB")] = absent(ExternalDb())
    """A database that runs somewhere else."""
    mariadb_operator: MariaDbOperator | None = None
    """A MariaDB that is run for this cluster."""
    slurmdbd_config: SlurmdbdConfig = absent(SlurmdbdConfig())
    """Parameters of slurmdbd.conf."""
    slurm_config: AccountingSlurmConfig = absent(AccountingSlurmConfig())
    """Parameters of slurm.conf that accounting needs."""

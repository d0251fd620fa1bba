"""Accounting: slurmdbd and its database."""

from slurmery.api.fields import absent
from slurmery.api.resource import CustomResource, Model
from slurmery.api.slinky.shared import (
    AGE,
    GROUP,
    NO_EXTERNAL_IPS,
    VERSION,
    Container,
    Keyed,
    PodTemplate,
    SecretKeyRef,
    ServiceTemplate,
    Status,
)


class StorageConfig(Model):
    """The MariaDB or MySQL database that slurmdbd writes to."""

    host: str
    """Host name or address of the database server."""
    port: int = 3306
    """TCP port of the database server."""
    database: str = "slurm_acct_db"
    """Name of the database."""
    username: str = absent("")
    """User of the database."""
    password_key_ref: SecretKeyRef
    """Secret key that holds the password."""


class AccountingSpec(Keyed, markers=(NO_EXTERNAL_IPS,)):
    """The slurmdbd to run."""

    slurmdbd: Container = absent({})
    """A core/v1 Container, merged over the generated slurmdbd container."""
    template: PodTemplate = absent(PodTemplate())
    """What to lay over the slurmdbd pod."""
    storage_config: StorageConfig | None = None
    """The database."""
    extra_conf: str = absent("")
    """Lines to append to slurmdbd.conf."""
    service: ServiceTemplate = absent(ServiceTemplate())
    """What to lay over the Service of slurmdbd."""


class Accounting(
    CustomResource,
    group=GROUP,
    version=VERSION,
    plural="accountings",
    short_names=("slurmdbd",),
    columns=(AGE,),
):
    """Job accounting: slurmdbd in front of a database."""

    spec: AccountingSpec
    """The slurmdbd to run."""
    status: Status | None = None
    """What the operator observed."""

"""slurmdbd.conf, with the keys and in the order of the contract. It holds the database password."""

from typing import Final

from slurmery.api.slinky import Accounting
from slurmery.api.slinky.accounting import StorageConfig
from slurmery.slinky import endpoints, names
from slurmery.slinky.security import auth_options
from slurmery.slurmconf import text
from slurmery.slurmconf.text import entry, section

_AUTH: Final = (("AuthType", "auth/slurm"), ("AuthAltTypes", "auth/jwt"))


def slurmdbd_conf(accounting: Accounting, storage: StorageConfig, password: str, *, jwks: bool) -> str:
    """The file."""
    extra = accounting.spec.extra_conf
    options = auth_options(jwks=jwks)
    plugins = [
        *(entry(key, plugin) for key, plugin in _AUTH),
        *(entry(key, ",".join(chosen)) for key, chosen in options.items()),
    ]
    return text.file(
        section("GENERAL", _general(accounting)),
        section("PLUGINS & PARAMETERS", plugins),
        section("STORAGE", _storage(storage, password)),
        section("LOGGING", [entry("LogFile", "/dev/null")]),
        section("EXTRA CONFIG", text.raw("extraConf", extra)),
        section("MERGED CONFIG", text.united(options, extra)),
    )


def _general(accounting: Accounting) -> list[str]:
    return [
        entry("DbdHost", f"{names.accounting(accounting.metadata.name)}-0"),
        entry("DbdPort", endpoints.slurmdbd_port(accounting)),
        entry("SlurmUser", names.SLURM_USER),
    ]


def _storage(storage: StorageConfig, password: str) -> list[str]:
    # Files that people make Secrets of end in a line break, which is never part of the password.
    secret = password.rstrip("\r\n")
    return [
        entry("StorageType", "accounting_storage/mysql"),
        entry("StorageHost", storage.host),
        entry("StoragePort", storage.port or 3306),
        # Without a user, slurmdbd connects as the one it runs as.
        *([entry("StorageUser", storage.username)] if storage.username else ()),
        entry("StorageLoc", storage.database or "slurm_acct_db"),
        *([entry("StoragePass", secret)] if secret else ()),
    ]

"""Reading kubeconfig files: several files merge into one, and a context names a cluster and a user.

The first file to mention a cluster, user, context or current context wins, as with kubectl. Paths
inside a file are relative to that file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import yaml

from slurmery.kube.errors import ConfigError


class Cluster(msgspec.Struct, rename="kebab"):
    """Where the API server is and how to know it."""

    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class ExecVariable(msgspec.Struct):
    """An environment variable of a credential plugin."""

    name: str
    value: str


class Exec(msgspec.Struct, rename="camel"):
    """A program that prints credentials."""

    api_version: str = ""
    command: str = ""
    args: list[str] | None = None
    env: list[ExecVariable] | None = None
    install_hint: str | None = None
    interactive_mode: str | None = None
    provide_cluster_info: bool | None = None


class User(msgspec.Struct, rename="kebab"):
    """Who we are. The odd field names are kubeconfig's own."""

    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    username: str | None = None
    password: str | None = None
    as_: str | None = msgspec.field(name="as", default=None)
    as_groups: list[str] | None = None
    exec_: Exec | None = msgspec.field(name="exec", default=None)
    auth_provider: dict[str, object] | None = None


class Context(msgspec.Struct):
    """Which user on which cluster, and the namespace to stand in."""

    cluster: str = ""
    user: str = ""
    namespace: str | None = None


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster = msgspec.field(default_factory=Cluster)


class _NamedUser(msgspec.Struct):
    name: str
    user: User | None = None


class _NamedContext(msgspec.Struct):
    name: str
    context: Context = msgspec.field(default_factory=Context)


class _File(msgspec.Struct, rename="kebab"):
    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


class Choice(NamedTuple):
    """A context with what it names."""

    context: Context
    cluster: Cluster
    user: User


def select(paths: Sequence[Path], context: str | None = None) -> Choice:
    """The given context of these files, or else their current one."""
    files = [_read(path) for path in paths if path.exists()]
    where = ", ".join(map(str, paths))
    if not files:
        raise ConfigError(
            f"kubeconfig {where} does not exist: point KUBECONFIG (or --kubeconfig) at a file that does"
        )
    wanted = context or next((file.current_context for file in files if file.current_context), None)
    if not wanted:
        raise ConfigError(
            f"kubeconfig {where} has no current-context: name one with `kubectl config use-context`"
        )
    chosen = _first("context", wanted, where, (c for file in files for c in file.contexts or ())).context
    cluster = _first(
        "cluster", chosen.cluster, where, (c for file in files for c in file.clusters or ())
    ).cluster
    if not cluster.server:
        raise ConfigError(f"kubeconfig {where}: cluster {chosen.cluster!r} has no server")
    user = User()
    if chosen.user:
        user = (
            _first("user", chosen.user, where, (u for file in files for u in file.users or ())).user or user
        )
    return Choice(chosen, cluster, user)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


def _first(what: str, name: str, where: str, entries: Iterable[_N]) -> _N:
    known = []
    for entry in entries:
        if entry.name == name:
            return entry
        known.append(entry.name)
    raise ConfigError(f"kubeconfig {where} has no {what} {name!r}; it has: {', '.join(known) or 'none'}")


def _read(path: Path) -> _File:
    try:
        file = msgspec.convert(yaml.load(path.read_text(), yaml.CSafeLoader) or {}, _File)
    except OSError as error:
        raise ConfigError(f"cannot read kubeconfig: {error}") from error
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"kubeconfig {path} is not valid: {error}") from error
    for cluster in file.clusters or ():
        cluster.cluster.certificate_authority = _beside(path, cluster.cluster.certificate_authority)
    for user in file.users or ():
        if user.user is not None:
            _resolve(path, user.user)
    return file


def _resolve(path: Path, user: User) -> None:
    user.client_certificate = _beside(path, user.client_certificate)
    user.client_key = _beside(path, user.client_key)
    user.token_file = _beside(path, user.token_file)
    if user.exec_ is not None and "/" in user.exec_.command:
        user.exec_.command = str(path.parent / user.exec_.command)


def _beside(path: Path, name: str | None) -> str | None:
    return str(path.parent / name) if name else None

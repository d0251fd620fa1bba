"""How to reach a cluster and who to be there.

`load` looks where kubectl and controllers look: an explicit file, KUBECONFIG, the service account of
the pod that we run in, ~/.kube/config.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from slurmery.kube import kubeconfig
from slurmery.kube.credentials import ClientCertificate, Credential, Credentials, Fixed, TokenFile
from slurmery.kube.errors import ConfigError
from slurmery.kube.execplugin import ExecPlugin, Plugin
from slurmery.kube.proxy import proxy_for

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# For programs that others start with an environment of their own, as Slurm does.
_HOST = "kubernetes.default.svc"


@dataclass(frozen=True)
class Config:
    """One cluster, one identity."""

    server: str
    credentials: Credentials = field(default_factory=lambda: Fixed(Credential()))
    namespace: str = "default"
    authority: str | None = None  # PEM; None trusts what the machine trusts
    insecure: bool = False
    tls_server_name: str | None = None
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def tls(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        """Trust the cluster's authority, and show the given client certificate."""
        try:
            context = ssl.create_default_context(cadata=self.authority)
            # Python 3.13 began to demand extensions that many clusters' authorities lack.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if certificate is not None:
                _load(context, certificate)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"the certificates for {self.server} cannot be used: {error}") from error
        return context


def load(
    path: Path | None = None, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Config:
    """The cluster that the command line, the environment or the pod points at."""
    if path is not None:
        return from_kubeconfig([path], context, environ)
    if named := environ.get("KUBECONFIG"):
        return from_kubeconfig([Path(part) for part in named.split(os.pathsep) if part], context, environ)
    if SERVICE_ACCOUNT.exists():
        return in_cluster(environ)
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    if home.exists():
        return from_kubeconfig([home], context, environ)
    raise ConfigError(
        f"no cluster to talk to: KUBECONFIG is not set, {home} does not exist and this is not a pod"
    )


def in_cluster(environ: Mapping[str, str] = os.environ, account: Path = SERVICE_ACCOUNT) -> Config:
    """The cluster whose pod we are, as the pod's service account."""
    host = environ.get("KUBERNETES_SERVICE_HOST", _HOST)
    port = environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    try:
        authority = (account / "ca.crt").read_text()
        namespace = (account / "namespace").read_text().strip()
    except OSError as error:
        raise ConfigError(f"the pod's service account cannot be read: {error}") from error
    return Config(
        server,
        TokenFile(account / "token"),
        namespace=namespace,
        authority=authority,
        proxy=proxy_for(server, environ),
    )


def from_kubeconfig(
    paths: list[Path], context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Config:
    """The cluster and user that a context of these files names."""
    chosen = kubeconfig.select(paths, context)
    cluster, user = chosen.cluster, chosen.user
    server = cluster.server if "://" in cluster.server else f"https://{cluster.server}"
    headers = [("Impersonate-User", user.as_)] if user.as_ else []
    headers += [("Impersonate-Group", group) for group in user.as_groups or ()]
    return Config(
        server.rstrip("/"),
        _credentials(user, cluster),
        namespace=chosen.context.namespace or "default",
        authority=_pem(cluster.certificate_authority_data, cluster.certificate_authority),
        insecure=bool(cluster.insecure_skip_tls_verify),
        tls_server_name=cluster.tls_server_name,
        proxy=_proxy(cluster.proxy_url) or proxy_for(server, environ),
        headers=tuple(headers),
    )


def _credentials(user: kubeconfig.User, cluster: kubeconfig.Cluster) -> Credentials:
    if user.auth_provider is not None:
        raise ConfigError(
            "kubeconfig asks for an auth-provider, which Kubernetes has removed: use an exec plugin"
        )
    if user.exec_ is not None:
        return ExecPlugin(_plugin(user.exec_, cluster))
    certificate = _pem(user.client_certificate_data, user.client_certificate)
    key = _pem(user.client_key_data, user.client_key)
    if bool(certificate) != bool(key):
        raise ConfigError("kubeconfig has a client certificate or a client key, but not both")
    if user.token_file and not user.token:
        return TokenFile(Path(user.token_file))
    authorization = None
    if user.token:
        authorization = f"Bearer {user.token}"
    elif user.username:
        pair = f"{user.username}:{user.password or ''}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Fixed(
        Credential(authorization, ClientCertificate(certificate, key) if certificate and key else None)
    )


def _plugin(stanza: kubeconfig.Exec, cluster: kubeconfig.Cluster) -> Plugin:
    shown: dict[str, Any] | None = None
    if stanza.provide_cluster_info:
        authority = _pem(cluster.certificate_authority_data, cluster.certificate_authority)
        shown = {
            "server": cluster.server,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "tls-server-name": cluster.tls_server_name,
            "proxy-url": cluster.proxy_url,
            "certificate-authority-data": authority and base64.b64encode(authority.encode()).decode(),
        }
        shown = {name: value for name, value in shown.items() if value}
    return Plugin(
        stanza.api_version,
        stanza.command,
        tuple(stanza.args or ()),
        {variable.name: variable.value for variable in stanza.env or ()},
        install_hint=stanza.install_hint or "",
        interactive_mode=stanza.interactive_mode or "IfAvailable",
        cluster=shown,
    )


def _proxy(url: str | None) -> str | None:
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"proxy-url {url} is neither an http:// nor an https:// proxy")
    return url


def _pem(data: str | None, path: str | None) -> str | None:
    """Inline data win over a file, as with kubectl."""
    try:
        if data:
            return base64.b64decode(data).decode()
        return Path(path).read_text() if path else None
    except ValueError as error:
        raise ConfigError(f"kubeconfig has certificate data that are not base64: {error}") from error
    except OSError as error:
        raise ConfigError(f"kubeconfig points at a file that cannot be read: {error}") from error


def _load(context: ssl.SSLContext, pair: ClientCertificate) -> None:
    # OpenSSL takes a chain from a file only; this one is readable by us alone and gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{pair.certificate}\n{pair.key}\n")
        file.flush()
        context.load_cert_chain(file.name)

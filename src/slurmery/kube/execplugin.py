"""Credentials from a program, as kubeconfig's `exec` asks: client.authentication.k8s.io v1 and v1beta1.

The program runs when there is no credential yet, when the last one has expired and after a 401; any
number of requests that wait meanwhile share the one run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from slurmery.kube.credentials import ClientCertificate, Credential
from slurmery.kube.errors import ConfigError

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
# A person may have to log in, in a browser.
RUN_SECONDS = 300.0
# Renew a little early: the request takes time and clocks differ.
EARLY = timedelta(seconds=10)


@dataclass(frozen=True)
class Plugin:
    """The `exec` stanza of a kubeconfig user."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    # What the program may know of the cluster; None where the kubeconfig does not offer it.
    cluster: Mapping[str, Any] | None = None


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: datetime | None = None
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class ExecPlugin:
    """Runs the program and keeps its answer while it is good."""

    def __init__(self, plugin: Plugin) -> None:
        if plugin.api_version not in VERSIONS:
            known = " or ".join(VERSIONS)
            raise ConfigError(f"credential plugin {plugin.command} wants {plugin.api_version!r}, not {known}")
        self._plugin = plugin
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._expires: datetime | None = None

    async def get(self) -> Credential:
        async with self._lock:
            if self._credential is None or self._expired():
                status = _parse(self._plugin, await _run(self._plugin))
                self._credential = _credential(self._plugin, status)
                self._expires = status.expiration_timestamp
            return self._credential

    def reject(self, credential: Credential) -> bool:
        # Requests in flight with the old credential must not throw away the new one.
        if credential == self._credential:
            self._credential = None
        return True

    def _expired(self) -> bool:
        return self._expires is not None and datetime.now(UTC) >= self._expires - EARLY


async def _run(plugin: Plugin) -> bytes:
    interactive = _interactive(plugin)
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = (
        os.environ | plugin.environment | {"KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}
    )
    program = shutil.which(plugin.command, path=environment.get("PATH"))
    if program is None:
        raise ConfigError(
            f"credential plugin {plugin.command} is not installed. {plugin.install_hint}".strip()
        )
    process = await asyncio.create_subprocess_exec(
        program,
        *plugin.arguments,
        env=environment,
        stdin=None if interactive else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=None if interactive else asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(RUN_SECONDS):
            output, complaint = await process.communicate()
    except TimeoutError as error:
        raise ConfigError(
            f"credential plugin {plugin.command} did not finish in {RUN_SECONDS:.0f} s"
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        words = (complaint or b"").decode(errors="replace").strip()
        raise ConfigError(
            f"credential plugin {plugin.command} failed with code {process.returncode}: {words}"
        )
    return output


def _interactive(plugin: Plugin) -> bool:
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive_mode == "Always" and not terminal:
        raise ConfigError(
            f"credential plugin {plugin.command} needs a terminal to ask you something, and there is none"
        )
    return terminal and plugin.interactive_mode != "Never"


def _parse(plugin: Plugin, output: bytes) -> _Status:
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
    except msgspec.DecodeError as error:
        # The output itself may hold a token: it must not reach a log.
        raise ConfigError(
            f"credential plugin {plugin.command} did not print an ExecCredential: {error}"
        ) from error
    if answer.api_version != plugin.api_version:
        raise ConfigError(
            f"credential plugin {plugin.command} speaks {answer.api_version}, not {plugin.api_version}"
        )
    if answer.status is None:
        raise ConfigError(f"credential plugin {plugin.command} printed no status")
    return answer.status


def _credential(plugin: Plugin, status: _Status) -> Credential:
    certificate = None
    if status.client_certificate_data and status.client_key_data:
        certificate = ClientCertificate(status.client_certificate_data, status.client_key_data)
    if not status.token and certificate is None:
        raise ConfigError(
            f"credential plugin {plugin.command} gave neither a token nor a certificate with its key"
        )
    return Credential(f"Bearer {status.token}" if status.token else None, certificate)

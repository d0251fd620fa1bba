"""Each program as the kubelet sees it: it starts, becomes ready, and ends when asked."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme

STARTED_SECONDS = 60
STOPPED_SECONDS = 5
NOWHERE = """
apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: dream, context: {cluster: nowhere, user: nobody}}]
current-context: dream
"""
KUBELET = ("--metrics-bind-address={}:8080", "--health-probe-bind-address={}:8081")
# Without an API server there is no authority for webhooks.
VARIABLES = {"REBOOTER_NODE_NAME": "n", "ENABLE_WEBHOOKS": "false"}
EXPORTER = (
    "--metrics-bind-address={}:8080",
    "--monitoring-bind-address={}:8081",
    "--cluster-name=c",
)


@contextmanager
def program(command: list[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(NOWHERE)
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig), **VARIABLES}
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, env=environ, stderr=log, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def answer(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def wait_listening(process: "subprocess.Popen[str]", url: str) -> None:
    deadline = time.monotonic() + STARTED_SECONDS
    while True:
        assert process.poll() is None, "the program has ended"
        try:
            answer(url)
        except urllib.error.URLError:
            assert time.monotonic() < deadline, "the program does not listen"
            time.sleep(0.05)
        else:
            return


def wait_ready(process: "subprocess.Popen[str]", url: str) -> None:
    wait_listening(process, url)
    deadline = time.monotonic() + STARTED_SECONDS
    while answer(url) != (200, "ok"):
        assert time.monotonic() < deadline, "the program does not become ready"
        time.sleep(0.05)


def test_the_exporter_starts_becomes_ready_and_stops_in_time(address: str, tmp_path: Path) -> None:
    flags = [flag.format(address) for flag in EXPORTER]
    with program([sys.executable, "-m", "slurmery", "exporter", *flags], tmp_path) as process:
        wait_ready(process, f"http://{address}:8081/readyz")
        assert answer(f"http://{address}:8081/healthz") == (200, "ok")
        assert "process_cpu_seconds_total" in answer(f"http://{address}:8081/metrics")[1]
        assert answer(f"http://{address}:8080/health") == (200, "healthy")
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_SECONDS) == 0
    assert '"program":"exporter"' in (tmp_path / "log").read_text()


def test_the_webhook_is_ready_once_it_has_a_certificate(address: str, tmp_path: Path) -> None:
    authority, certificates = trustme.CA(), tmp_path / "certificates"
    certificates.mkdir()
    flags = [f"--health-addr={address}:8081", f"--server-addr={address}:9443", f"--cert-dir={certificates}"]
    with program([sys.executable, "-m", "slurmery", "webhook", *flags], tmp_path) as process:
        wait_listening(process, f"http://{address}:8081/readyz")
        status, words = answer(f"http://{address}:8081/readyz")
        assert (status, "webhooks: no serving certificate yet" in words) == (503, True)
        pair = authority.issue_cert(address)
        pair.private_key_pem.write_to_path(certificates / "tls.key")
        pair.cert_chain_pems[0].write_to_path(certificates / "tls.crt")
        wait_ready(process, f"http://{address}:8081/readyz")
        trust = ssl.create_default_context()
        authority.configure_trust(trust)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"https://{address}:9443/validate--v1-secret", b"{}", context=trust)
        with refused.value:
            assert refused.value.code == 400
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_SECONDS) == 0


def test_a_link_of_an_upstream_name_is_that_program(address: str, tmp_path: Path) -> None:
    manager = tmp_path / "manager"
    manager.symlink_to(Path(sys.executable).with_name("slurmery"))
    flags = [
        f"--health-addr={address}:8081",
        "-metrics-addr",
        "0",
        "--zap-encoder=console",
        "--jail-path=/jail",
    ]
    with program([str(manager), *flags], tmp_path) as process:
        wait_listening(process, f"http://{address}:8081/readyz")
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPED_SECONDS) == 0
    log = (tmp_path / "log").read_text()
    assert "acts in sconfigcontroller, not here" in log
    assert "program=operator" in log


def test_a_port_that_is_taken_is_told_in_a_sentence(address: str, tmp_path: Path) -> None:
    flags = [flag.format(address) for flag in KUBELET]
    with (
        socket.create_server((address, 8080)),
        program([sys.executable, "-m", "slurmery", "checks", *flags], tmp_path) as process,
    ):
        assert process.wait(STARTED_SECONDS) == 1
    log = (tmp_path / "log").read_text()
    assert "address already in use" in log
    assert "Traceback" not in log

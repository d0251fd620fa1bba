"""Helm, pointed at one cluster."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev import paths
from dev.refusal import Refusal

SECONDS = 300


@dataclass(frozen=True)
class Helm:
    """Installs the charts of this checkout."""

    program: Path
    kubeconfig: Path | None = None
    """Without one, Helm's own rules: KUBECONFIG and the current context."""

    def install(self, release: str, chart: str, namespace: str, values: Mapping[str, Any]) -> None:
        """Install or upgrade a release of charts/`chart`, unless it is just that already."""
        folder = paths.ROOT / "charts" / chart
        text = json.dumps(values)
        content = _content(folder, text)
        status = self._run("status", release, f"--namespace={namespace}", "--output=json")
        if not status.returncode and json.loads(status.stdout)["info"]["description"] == content:
            return
        line = ["upgrade", "--install", release, str(folder), "--values=-", f"--description={content}"]
        done = self._run(*line, f"--namespace={namespace}", "--create-namespace", stdin=text)
        if done.returncode:
            raise Refusal(f"chart {chart} could not be installed: {done.stderr.strip()}")

    def uninstall(self, release: str, namespace: str) -> None:
        """Remove a release, if it is there."""
        self._run("uninstall", release, f"--namespace={namespace}", "--ignore-not-found", "--wait")

    def _run(self, *arguments: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        where = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        return subprocess.run(
            [self.program, *where, *arguments],
            capture_output=True,
            text=True,
            input=stdin,
            check=False,
            timeout=SECONDS,
        )


def _content(folder: Path, values: str) -> str:
    digest = hashlib.sha256(values.encode())
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return f"content {digest.hexdigest()[:16]}"

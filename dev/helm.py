"""Helm, pointed at one cluster."""

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
        """Install or upgrade a release of charts/`chart`; what was in the way of it is said."""
        where = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        line = ["upgrade", "--install", release, str(paths.ROOT / "charts" / chart), "--values=-"]
        done = subprocess.run(
            [self.program, *where, *line, f"--namespace={namespace}", "--create-namespace"],
            capture_output=True,
            text=True,
            input=json.dumps(values),
            check=False,
            timeout=SECONDS,
        )
        if done.returncode:
            raise Refusal(f"chart {chart} could not be installed: {done.stderr.strip()}")

"""kubectl, pointed at one cluster."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.refusal import Refusal

Completed = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Kubectl:
    """`kubectl(...)` returns what it printed or refuses; `attempt(...)` returns how it went."""

    program: Path
    kubeconfig: Path | None = None
    """Without one, kubectl's own rules: KUBECONFIG and the current context."""

    def __call__(self, *arguments: str, stdin: str | None = None, seconds: float = 180) -> str:
        done = self.attempt(*arguments, stdin=stdin, seconds=seconds)
        if done.returncode:
            raise Refusal(
                f"kubectl {' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}"
            )
        return done.stdout

    def attempt(self, *arguments: str, stdin: str | None = None, seconds: float = 180) -> Completed:
        command = self._line(*arguments)
        try:
            return subprocess.run(
                command, capture_output=True, text=True, input=stdin, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return Completed(command, 124, "", f"no answer in {seconds:.0f} s")

    @contextmanager
    def forwarded(self, target: str, port: int, *arguments: str) -> Iterator[str]:
        """The address of a local port that leads to `port` of a Service or pod."""
        line = self._line(*arguments, "port-forward", "--address=127.0.0.1", target, f":{port}")
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                first = process.stdout.readline()  # Forwarding from 127.0.0.1:PORT -> 6820
                if "->" not in first:
                    raise Refusal(f"{target} cannot be reached: kubectl port-forward gave up")
                yield first.split()[2]
            finally:
                process.kill()

    def _line(self, *arguments: str) -> list[str]:
        config = [f"--kubeconfig={self.kubeconfig}"] if self.kubeconfig else []
        return [str(self.program), *config, *arguments]

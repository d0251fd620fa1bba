"""Shows long work as it goes: a live table on a terminal, plain lines elsewhere. Elapsed times on both."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table

Say = Callable[[str], None]


@dataclass
class _Step:
    name: str
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    failed: bool = False
    text: str = ""

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started


class Progress:
    """Steps that may run in several threads at once."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=False, highlight=False)
        self._steps: list[_Step] = []
        self._lock = threading.Lock()
        self._live: Live | None = None

    @contextmanager
    def step(self, name: str) -> Iterator[Say]:
        step = _Step(name)
        with self._lock:
            self._steps.append(step)

        def say(text: str) -> None:
            step.text = text
            self._line(step)

        try:
            yield say
        except BaseException:
            step.failed = True
            raise
        finally:
            step.ended = time.monotonic()
            step.text = "failed" if step.failed else "done"
            self._line(step)

    @contextmanager
    def shown(self) -> Iterator["Progress"]:
        if not self._console.is_terminal:
            yield self
            return
        with Live(console=self._console, get_renderable=self._table, refresh_per_second=8) as self._live:
            yield self
        self._live = None
        with self._lock:
            self._steps.clear()

    def _line(self, step: _Step) -> None:
        if self._live is None:
            line = f"[{step.seconds:6.1f}s] {step.name}: {step.text}"
            self._console.print(line, markup=False, soft_wrap=True)
            sys.stdout.flush()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        with self._lock:
            for step in self._steps:
                mark = "[red]✗" if step.failed else "[green]✓" if step.ended else "[yellow]•"
                table.add_row(mark, step.name, f"{step.seconds:.1f} s", f"[dim]{step.text}")
        return table

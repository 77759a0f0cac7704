"""Progress on stderr: one live line on a terminal, a plain line every ten seconds in a log."""

import sys
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

EVERY_S = 10.0


@dataclass
class Meter:
    """Counts shards and pairs of this run; ``line`` says where it stands."""

    total: int
    done: int = 0
    pairs: int = 0
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """Shards done / all, pairs a second, time left."""
        seconds = max(time.monotonic() - self.began, 1e-9)
        left = _clock((self.total - self.done) * seconds / self.done) if self.done else "unknown"
        return f"{self.done}/{self.total} shards, {self.pairs / seconds:.1f} pairs/s, {left} left"


class ProgressLine:
    """Context manager; ``advance`` after every receipt. In a log a thread writes a line every ten seconds, come what may."""

    def __init__(self, total: int, *, quiet: bool = False, every_s: float = EVERY_S):
        self.meter = Meter(total)
        self._quiet = quiet or total == 0
        self._every_s = every_s
        self._live: Progress | None = None
        self._task: TaskID = TaskID(0)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="ecqa-progress", daemon=True)

    def __enter__(self) -> "ProgressLine":
        if not self._quiet and sys.stderr.isatty():
            columns = (TextColumn("scoring"), BarColumn(), TextColumn("{task.fields[line]}"))
            self._live = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._live.add_task("", total=self.meter.total, line=self.meter.line())
            self._live.start()
        self._thread.start()
        return self

    def _tick(self) -> None:
        while not self._ended.wait(1.0 if self._live is not None else self._every_s):
            self._show()

    def _show(self) -> None:
        if self._live is not None:
            self._live.update(self._task, completed=self.meter.done, line=self.meter.line())
        elif not self._quiet:
            sys.stderr.write(self.meter.line() + "\n")
            sys.stderr.flush()

    def advance(self, pairs: int) -> None:
        """Count one finished shard."""
        self.meter.done += 1
        self.meter.pairs += pairs

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._live is not None:
            self._live.stop()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"

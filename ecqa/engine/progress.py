"""Progress on stderr: one live line on a terminal, a plain line every ten seconds in a log."""

import sys
import time
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

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
    """Context manager; ``advance`` after every receipt."""

    def __init__(self, total: int, *, quiet: bool = False):
        self.meter = Meter(total)
        self._quiet = quiet or total == 0
        self._live: Progress | None = None
        self._last = time.monotonic()
        self._task: object = None

    def __enter__(self) -> "ProgressLine":
        if not self._quiet and sys.stderr.isatty():
            columns = (TextColumn("scoring"), BarColumn(), TextColumn("{task.fields[line]}"))
            self._live = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._live.add_task("", total=self.meter.total, line=self.meter.line())
            self._live.start()
        return self

    def advance(self, pairs: int) -> None:
        """Count one finished shard."""
        self.meter.done += 1
        self.meter.pairs += pairs
        if self._live is not None:
            self._live.update(self._task, completed=self.meter.done, line=self.meter.line())  # type: ignore[arg-type]
        elif not self._quiet and time.monotonic() - self._last >= EVERY_S:
            self._last = time.monotonic()
            sys.stderr.write(self.meter.line() + "\n")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
